"""Values of other types where composites want tensors or numbers: torch's TypeError, which names the function."""

import gc
import weakref

import numpy as np
import pytest

import rushlight as torch

X = torch.ones(2, 3)
CALLS = {
    "cov(): argument 'input' (position 1) must be Tensor, not list": lambda: torch.cov([1]),
    "diff(): argument 'input' (position 1) must be Tensor, not NoneType": lambda: torch.diff(None),
    "chunk(): argument 'input' (position 1) must be Tensor, not numpy.ndarray": lambda: torch.chunk(np.ones(2), 2),
    "addr(): argument 'input' (position 1) must be Tensor, not int": lambda: torch.addr(1, 2, 3),
    "roll(): argument 'dims' (position 2) must be tuple of ints, not str": lambda: X.roll(1, "a"),
    "expected Tensor as element 0 in argument 0, but got int": lambda: torch.block_diag(1),
    "expected Tensor as element 1 in argument 0, but got float": lambda: torch.cartesian_prod(X[0], 1.5),
    "std_mean() received an invalid combination of arguments - got (str)": lambda: torch.std_mean("a"),
    "cumsum(): argument 'dim' (position 1) must be int, not Tensor": lambda: X.cumsum(torch.ones(2)),
    "sum(): argument 'dim' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but got str\"": (
        lambda: X.sum((0, "x"))
    ),
    "std() received an invalid combination of arguments - got (list, int)": lambda: torch.std([1.0], 1),
    "flatten(): argument 'start_dim' (position 2) must be int, not float": lambda: torch.flatten(X, 1.5),
    "flatten(): argument 'input' (position 1) must be Tensor, not list": lambda: torch.flatten([1.0]),
    "chunk(): argument 'chunks' (position 2) must be int, not Tensor": lambda: torch.chunk(X, X),
    "narrow() received an invalid combination of arguments - got (Tensor, int, str, int)": (
        lambda: torch.narrow(X, 0, "2", 1)
    ),
    "movedim() received an invalid combination of arguments - got (Tensor, list, int)": (
        lambda: torch.movedim(X, [1, 2], 1)
    ),
    "view_as(): argument 'other' (position 1) must be Tensor, not list": lambda: X.view_as([1]),
    "view_as(): argument 'other' (position 1) must be Tensor, not numpy.ndarray": lambda: X.view_as(np.ones((2, 3))),
    "uniform_(): argument 'from' (position 1) must be float, not str": lambda: X.uniform_("2", 1),
    "uniform_(): argument 'to' (position 2) must be float, not Tensor": lambda: X.uniform_(0, X),
    "uniform_() got an unexpected keyword argument 'foo'": lambda: X.uniform_(0, 1, foo=1),
    "one_hot(): argument 'num_classes' (position 2) must be int, not float": (
        lambda: torch.nn.functional.one_hot(torch.tensor([0, 2]), 1.5)
    ),
    "dropout(): argument 'input' (position 1) must be Tensor, not list": lambda: torch.nn.functional.dropout([1.0]),
    "alpha_dropout(): argument 'input' (position 1) must be Tensor, not list": (
        lambda: torch.nn.functional.alpha_dropout([1.0])
    ),
}


@pytest.mark.parametrize("message", CALLS)
def test_message(message):
    with pytest.raises(TypeError) as caught:
        CALLS[message]()
    assert str(caught.value).startswith(message)


def test_errors_of_right_types_stay():
    with pytest.raises(RuntimeError, match="negative"):
        torch.combinations(X[0], -1)
    with pytest.raises(ZeroDivisionError):
        X.map_(X, lambda a, b: 1 / 0)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        X.map_(X, lambda a, b: (1).nothing)
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.nn.functional.kl_div(X, torch.ones(5, 7), reduction="sum")
    with pytest.raises(IndexError, match="out of range"):
        X.flip(5)
    with pytest.raises(RuntimeError, match="repeat dims"):
        X.repeat(2)
    with pytest.raises(ValueError, match="dropout probability"):
        torch.nn.functional.dropout(X, 1.5)
    with pytest.raises(RuntimeError, match="Could not infer dtype"):
        torch.as_tensor(None)


def test_errors_keep_no_arguments():
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(2)

        seen = weakref.ref(x)
        with pytest.raises(TypeError):
            torch.isclose(x, [1])
        del x
        assert seen() is None
    finally:
        gc.enable()


def test_sizes_of_splits_are_whole_numbers():
    for bad in ("2", 1.5):
        with pytest.raises(TypeError):
            X.split(bad)
        with pytest.raises(TypeError):
            X.narrow(0, bad, 1)
    assert [t.shape for t in X.split(torch.tensor(1))] == [(1, 3), (1, 3)] and X.narrow(
        0, torch.tensor(1), 1
    ).shape == (1, 3)


def test_weights_that_are_lists():
    with pytest.raises(TypeError, match=r"argument 'weight' .* must be Tensor, not list"):
        torch.nn.functional.cross_entropy(X, torch.tensor([0, 1]), weight=[1.0, 1.0, 1.0])


W = torch.zeros(2, 3)
I = torch.tensor([0, 1])
SQUARE = torch.eye(2)
F = torch.nn.functional


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.sum(1, keepdim="x"),
        lambda: X.sum(1, 1),
        lambda: X.mean(1, "x"),
        lambda: X.argmax(1, keepdim=1),
        lambda: X.logsumexp(1, keepdim="x"),
        lambda: X.topk(1, 1, "x"),
        lambda: torch.kthvalue(X, 1, 1, "x"),
        lambda: X.sort(1, "x"),
        lambda: X.median(1, "x"),
        lambda: X.std(1, "x"),
        lambda: X.std(unbiased="x"),
        lambda: X.multinomial(1, "x"),
        lambda: X.sum(1, keepdim=np.bool_(True)),
        lambda: torch.zeros(2, requires_grad="x"),
        lambda: torch.ones_like(X, requires_grad=1),
        lambda: torch.tensor(X, requires_grad="x"),
        lambda: torch.nn.Parameter(X, "x"),
        lambda: torch.use_deterministic_algorithms(1),
        lambda: torch.use_deterministic_algorithms(False, warn_only=0),
        lambda: torch.zeros(2, requires_grad=0),
        lambda: torch.rand(2, requires_grad=np.bool_(False)),
        lambda: torch.zeros(2, pin_memory=0),
        lambda: X.clone().requires_grad_(np.bool_(True)),
        lambda: F.dropout(X, 0.5, np.bool_(False)),
        lambda: torch.dropout(X, 0.5, 1),
        lambda: F.alpha_dropout(X, 0.5, None),
        lambda: F.dropout2d(X[None, None], 0.5, 0),
        lambda: F.embedding(I, X, sparse=np.bool_(True)),
        lambda: F.embedding(I, X, scale_grad_by_freq=0),
        lambda: torch.linalg.solve_triangular(SQUARE, SQUARE, upper=np.bool_(True)),
        lambda: torch.linalg.svd(SQUARE, "x"),
        lambda: torch.linalg.cholesky(SQUARE, upper=1),
        lambda: torch.linalg.solve(SQUARE, SQUARE, left=1),
        lambda: torch.linalg.pinv(SQUARE, hermitian=1),
        lambda: torch.linalg.matrix_rank(SQUARE, hermitian=0),
        lambda: F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 2), 1),
        lambda: F.grid_sample(torch.zeros(1, 1, 2, 2), torch.zeros(1, 2, 2, 2), align_corners=0),
        lambda: F.interpolate(torch.zeros(1, 1, 2, 2), 4, mode="bilinear", align_corners=np.bool_(True)),
        lambda: torch.nn.utils.rnn.pad_sequence([X], 1),
        lambda: torch.nn.utils.rnn.pack_padded_sequence(X, [2, 1, 1], 0),
        lambda: X.nonzero(as_tuple=3),
        lambda: X.sort(stable=1),
        lambda: X.clone().copy_(X, 1),
        lambda: X.to(torch.float64, copy=1),
        lambda: X.to("cpu", non_blocking=1),
        lambda: X.type(torch.float64, 1),
        lambda: torch.hann_window(4, 0),
        lambda: torch.stft(torch.zeros(20), 8, return_complex=1),
        lambda: torch.nn.GRU(3, 2, bidirectional=1)(X),
        lambda: torch.autograd.set_detect_anomaly(1),
        lambda: torch.autocast("cpu", enabled=1).__enter__(),
    ],
)
@pytest.mark.filterwarnings("ignore:To copy construct")
def test_options_that_are_bools_take_nothing_else(call):
    with pytest.raises(TypeError, match=r"must be bool, not|invalid combination"):
        call()


def test_bools_are_read_in_autocast_and_with_a_recorder_as_well():
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(TypeError, match="'keepdim' must be bool, not str"):
        X.amax(1, keepdim="x")
    assert X.std(1, True).shape == (2,) and X.std(1, correction=None).shape == (2,) and X.amax(1, True).shape == (2, 1)


@pytest.mark.parametrize("shape", [(-9,), (3, -9), ((3, -9),), ([-2, 6],)])
def test_negative_sizes_other_than_minus_one(shape):
    for t in (X, X.t()):
        with pytest.raises(RuntimeError, match=r"invalid shape dimension -\d at index \d of shape \["):
            t.reshape(*shape)
    with pytest.raises(RuntimeError, match="invalid shape dimension"):
        X.view(*shape)


def test_no_shape_is_not_one_dimension():
    with pytest.raises(TypeError, match=r"view\(\) received an invalid combination of arguments - got \(NoneType\)"):
        X.view(None)
    with pytest.raises(TypeError, match="must be tuple of ints, not NoneType"):
        X.reshape(None)


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.tril(1.5),
        lambda: torch.triu(X, 1.5),
        lambda: X.lerp(W, "2"),
        lambda: X.lerp(W, None),
        lambda: X.nan_to_num("2"),
        lambda: X.nan_to_num(0.0, posinf="2"),
        lambda: W.clone().normal_("2", 1),
        lambda: W.clone().uniform_(0, "2"),
        lambda: torch.normal(0.0, "2", (2,)),
        lambda: torch.isin([1.0], X),
        lambda: torch.isin(X, np.ones(2)),
        lambda: torch.searchsorted(X[0], [1.0]),
        lambda: torch.bucketize([1.0], X[0]),
        lambda: torch.nn.functional.layer_norm(X, 3),
    ],
)
def test_numbers_are_not_made_of_text_and_lists(call):
    with pytest.raises(TypeError, match=r"must be|invalid combination"):
        call()


@pytest.mark.parametrize("name", ["max", "min", "prod", "median", "nanmedian", "squeeze", "logsumexp"])
def test_dim_is_no_none(name):
    with pytest.raises(TypeError, match=r"NoneType"):
        getattr(X, name)(None)
    with pytest.raises(TypeError, match=r"NoneType"):
        getattr(torch, name)(X, dim=None)


def test_none_for_numbers_that_count():
    for call in (lambda: torch.cat([X, X], None), lambda: torch.arange(None, 5), lambda: torch.arange(0, None)):
        with pytest.raises(TypeError, match="NoneType"):
            call()
    with pytest.raises(TypeError, match="invalid combination"):
        W.clone().random_(None, 5)
    assert torch.arange(end=3).tolist() == torch.arange(start=3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("option", ["retain_graph", "create_graph"])
def test_options_of_backward_are_whole_numbers(option):
    w = torch.ones(2, requires_grad=True)
    for bad in (np.bool_(True), "x", 1.0):
        for f in (lambda **k: w.sum().backward(**k), lambda **k: torch.autograd.grad(w.sum(), w, **k)):
            with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
                f(**{option: bad})
    assert w.grad is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.to(torch.float64, dtype=torch.float32),
        lambda: X.to("cpu", device="cpu"),
        lambda: X.to(torch.float64, torch.float32),
        lambda: X.to("cpu", "cpu"),
        lambda: X.to(X, torch.float64),
        lambda: X.to(torch.float64, None),
    ],
)
def test_a_type_or_device_given_twice(call):
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments - got"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch.zeros(2, device=["cpu"]), r"zeros\(\): argument 'device' must be torch.device, not list"),
        (lambda: torch.full((2,), 1.0, device=1.5), r"full\(\): argument 'device' must be torch.device, not float"),
        (
            lambda: torch.zeros_like(X, device=["cpu"]),
            r"zeros_like\(\): argument 'device' must be torch.device, not list",
        ),
        (lambda: X.new_zeros(2, device=["cpu"]), r"new_zeros\(\): argument 'device' must be torch.device, not list"),
        (
            lambda: torch.as_tensor([1], device=["cpu"]),
            r"as_tensor\(\): argument 'device' must be torch.device, not list",
        ),
        (
            lambda: torch.randn(2, device=1.5),
            r"randn\(\) received .* - got \(int, device=float\), but expected one of:",
        ),
        (
            lambda: torch.arange(3, device=[0]),
            r"arange\(\) received .* - got \(int, device=list\), but expected one of:",
        ),
        (lambda: X.to(["cpu"]), r"to\(\) received .* - got \(list\), but expected one of:"),
        (lambda: X.to(device=["cpu"]), r"to\(\) received .* - got \(device=list, \), but expected one of:"),
        (lambda: X.to(dtype=3), r"to\(\) received .* - got \(dtype=int, \), but expected one of:"),
        (lambda: torch.device(["cpu"]), r"device\(\) received .* - got \(list\), but expected one of:"),
    ],
)
def test_a_device_that_is_none_is_said_by_the_function_that_was_called(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_forms_of_to():
    double = torch.float64
    for t in (
        X.to("cpu", double),
        X.to("cpu", dtype=double),
        X.to(double, False, True),
        X.to(device="cpu", dtype=double),
    ):
        assert t.dtype is double
    assert X.to(X, False, True) is not X and X.to("cpu", None) is X and X.to(None, None, False, False) is X


def test_the_divergence_has_no_complex_numbers():
    with pytest.raises(RuntimeError, match="kl_div: Complex inputs not supported"):
        F.kl_div(X + 0j, X, reduction="sum")


@pytest.mark.parametrize(
    ("call", "attribute"),
    [
        (lambda: F.softmax([1.0], 0), "softmax"),
        (lambda: F.log_softmax(None, 0), "log_softmax"),
        (lambda: torch.nn.Softmax(1)([1.0]), "softmax"),
        (lambda: F.interpolate([1.0], 2), "dim"),
        (lambda: F.affine_grid(3, (1, 1, 2, 2), False), "is_floating_point"),
        (lambda: F.glu(None), "dim"),
        (lambda: F.normalize([1.0]), "norm"),
        (lambda: F.adaptive_avg_pool2d("abc", 2), "size"),
        (lambda: torch.norm([1.0], 2, 0), "layout"),
        (lambda: torch.split([1.0], 1), "split"),
        (lambda: torch.tensordot(X, [1.0]), "dim"),
    ],
)
def test_functions_that_torch_writes_in_python_miss_an_attribute(call, attribute):
    with pytest.raises(
        AttributeError, match=rf"object has no attribute '{attribute}': \w+\(\): argument . must be Tensor"
    ):
        call()
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.softmax([1.0], 0)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: torch.clamp(X, [1, 2], 0.5), TypeError),
        (lambda: torch.broadcast_to(X, ["a", "b"]), TypeError),
        (lambda: X.select(0, 1.5), TypeError),
        (lambda: torch.einsum(None, X), TypeError),
        (lambda: torch.set_num_threads("a"), RuntimeError),
        (lambda: torch.autograd.grad(W.clone().requires_grad_().sum(), [1.0]), RuntimeError),
        (lambda: torch.autograd.backward([1]), AssertionError),
        (lambda: torch.autograd.backward(W.clone().requires_grad_().sum(), "zzz"), TypeError),
        (lambda: torch.nn.utils.rnn.pack_padded_sequence([1.0], [1]), TypeError),
        (lambda: torch.nn.utils.rnn.pack_padded_sequence(X, None), TypeError),
        (lambda: torch.nn.utils.rnn.pad_sequence(["a"]), TypeError),
    ],
)
def test_types_of_errors(call, kind):
    with pytest.raises(kind) as raised:
        call()
    assert raised.type is kind
