"""Making, copying and converting tensors. The types and errors expected are torch 2.13's."""

import math
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight.core.warn import Once
from rushlight.ops.creation import spacing

f32, f64, i64, b1 = torch.float32, torch.float64, torch.int64, torch.bool

DATA = [
    ([1, 2.5], f32, [1.0, 2.5]), ([True, 2], i64, [1, 2]), ([True, False], b1, [True, False]), ([], f32, []),
    ([[], []], f32, [[], []]), (3, i64, 3), (2.0, f32, 2.0), (True, b1, True), (1j, torch.complex64, 1j),
    (range(3), i64, [0, 1, 2]), ([(1, 2), (3, 4)], i64, [[1, 2], [3, 4]]), (np.float64(1), f64, 1.0),
    ([np.float32(1)], f32, [1.0]), ([np.float64(1)], f64, [1.0]), ([np.int32(1), 2], i64, [1, 2]),
    ([1.0, np.float64(2)], f64, [1, 2]), ([2, np.float64(1)], f64, [2, 1]), ([np.float16(1), 1.0], f32, [1, 1]),
    ([1, np.float16(2)], torch.float16, [1, 2]), ([[1.0], [np.float64(1)]], f64, [[1], [1]]), ([np.int32(1)], torch.int32, [1]),
    ([np.uint8(3), np.uint8(4)], torch.uint8, [3, 4]), ([np.uint8(3), np.int8(4)], torch.int16, [3, 4]),
    ([np.int32(1), 1.5], f32, [1, 1.5]), ([np.int32(1), True], torch.int32, [1, 1]), ([np.bool_(True)], b1, [True]),
    ([1j, np.float64(1)], torch.complex128, [1j, 1]), ([np.zeros(0)], f64, [[]]), ([np.float32(1), np.float64(1)], f64, [1, 1]),
    ([np.ones(2, np.uint8)], torch.uint8, [[1, 1]]), ([np.ones(2, np.float32), [1.0, 2.0]], f32, [[1, 1], [1, 2]]),
    ([np.ones((1, 2), np.float16)], torch.float16, [[[1, 1]]]), ([[1.0, 2.0], np.ones(2)], f64, [[1, 2], [1, 1]]),
    ([torch.tensor(1.0), torch.tensor(2.0, dtype=f64)], f64, [1, 2]), ([torch.tensor(2).int()], torch.int32, [2]),
    ([torch.tensor(2.0).bfloat16(), 1], torch.bfloat16, [2, 1]), ([1.5, torch.tensor(2)], f32, [1.5, 2]),
    (np.arange(3, dtype=np.int16), torch.int16, [0, 1, 2]), ([np.ones(2), np.zeros(2)], f64, [[1, 1], [0, 0]]),
]  # fmt: skip


@pytest.mark.parametrize(("data", "dtype", "values"), DATA, ids=[str(d[0])[:20] for d in DATA])
def test_tensor_infers_as_torch(data, dtype, values):
    t = torch.tensor(data)
    assert t.dtype is dtype and t.tolist() == values


def test_tensor_of_tensors_and_of_a_tensor():
    assert torch.tensor([torch.tensor(1), torch.tensor(2.0)]).tolist() == [1.0, 2.0]
    with pytest.warns(UserWarning, match="sourceTensor.detach"):
        torch.tensor(torch.ones(1))


BAD = [
    (lambda: torch.tensor([[1, 2], [3]]), ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
    (lambda: torch.tensor([torch.ones(2)]), ValueError, "only one element tensors"),
    (lambda: torch.tensor("a"), TypeError, "invalid data type 'str'"),
    (lambda: torch.tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
    (lambda: torch.tensor([1, None]), RuntimeError, "Could not infer dtype of NoneType"),
    (lambda: torch.tensor({}), RuntimeError, "Could not infer dtype of dict"),
    (lambda: torch.tensor([["a"]]), ValueError, "too many dimensions 'str'"),
    (lambda: torch.tensor(2**70), (ValueError, RuntimeError, OverflowError), "Overflow"),
    (lambda: torch.tensor([300], dtype=torch.uint8), RuntimeError, "without overflow"),
    (lambda: torch.zeros(-1), RuntimeError, "must be non-negative"),
    (lambda: torch.arange(0, -1), RuntimeError, "upper bound and lower bound inconsistent with step sign"),
    (lambda: torch.arange(0, 1, 0), RuntimeError, "step must be nonzero"),
    (lambda: torch.from_numpy([1]), TypeError, r"expected np.ndarray \(got list\)"),
    (lambda: torch.from_numpy(np.array(["a"])), TypeError, "can't convert np.ndarray of type numpy.str_. The only"),
    (lambda: torch.tensor([np.array([None, 1])]), TypeError, "can't convert np.ndarray of type numpy.object_"),
    (lambda: torch.ones(), TypeError, 'ones\\(\\) missing 1 required positional arguments: "size"'),
    (lambda: torch.randn(), TypeError, "invalid combination of arguments - got \\(\\)"),
    (lambda: torch.ones("2"), TypeError, r"ones\(\): argument 'size' \(position 1\) must be tuple of ints, not str"),
    (lambda: torch.rand(size=2), TypeError, r"rand\(\): argument 'size' must be tuple of ints, not int"),
    (lambda: torch.zeros([2.0]), TypeError, r"\(position 1\) must be tuple of ints, but found element of type float at pos 0"),
    (lambda: torch.empty(2, 2.5), TypeError, 'failed to unpack the object at pos 2 with error "type must be tuple of ints,but got'),
    (lambda: torch.ones(torch.ones(2).long()), TypeError, "must be tuple of ints, not Tensor"),
    (lambda: torch.randint(0, 10, 5), TypeError, r"randint\(\) received an invalid combination of arguments - got \(int, int, int\)"),
    (lambda: torch.randint(10), TypeError, r"invalid combination of arguments - got \((int, )?int\)"),
    (lambda: torch.randint(0.0, 2, (2,)), TypeError, r"got \(float, int, tuple\)"),
    (lambda: torch.rand_like(3), TypeError, r"rand_like\(\): argument 'input' \(position 1\) must be Tensor, not int"),
    (lambda: torch.zeros_like([1]), TypeError, r"zeros_like\(\): argument 'input' \(position 1\) must be Tensor, not list"),
    (lambda: torch.device("cpu0"), RuntimeError, "Invalid device string: 'cpu0'"),
    (lambda: torch.device(""), RuntimeError, "Device string must not be empty"),
    (lambda: torch.ones(1).to("mps"), RuntimeError, "PyTorch is not linked with support for mps devices"),
    (lambda: torch.from_numpy(np.ones(3)[::-1]), ValueError, "negative"),
    (lambda: torch.zeros(2, device="nowhere"), RuntimeError, "Expected one of cpu, cuda"),
    (lambda: torch.linspace(0, 1, -1), RuntimeError, "number of steps must be non-negative"),
    (lambda: torch.eye(-1), RuntimeError, "n must be greater or equal to 0"),
    (lambda: torch.ones(2).item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
    (lambda: bool(torch.ones(2)), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
    (lambda: len(torch.tensor(1)), TypeError, "len\\(\\) of a 0-d tensor"),
    (lambda: torch.ones(2).copy_(torch.ones(3)), RuntimeError, "must match the size"),
    (lambda: torch.ones(2, requires_grad=True).numpy(), RuntimeError, r"Use tensor.detach\(\).numpy\(\) instead"),
    (lambda: torch.tensor([1], requires_grad=True), RuntimeError, "floating point"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


MADE = [
    (lambda: torch.arange(5), i64, np.arange(5)), (lambda: torch.arange(1, 2, 0.3), f32, [1, 1.3, 1.6, 1.9]),
    (lambda: torch.arange(5, 1, -2), i64, [5, 3]), (lambda: torch.linspace(0, 1, 5), f32, [0, 0.25, 0.5, 0.75, 1]),
    (lambda: torch.linspace(3, 3, 1), f32, [3]), (lambda: torch.logspace(0, 2, 3), f32, [1, 10, 100]),
    (lambda: torch.full((2,), True), b1, [True, True]), (lambda: torch.full((2,), 1), i64, [1, 1]),
    (lambda: torch.full((), 2.5), f32, 2.5), (lambda: torch.eye(2, 3), f32, np.eye(2, 3)),
    (lambda: torch.zeros(2, 0), f32, np.zeros((2, 0))), (lambda: torch.ones((2, 1), dtype=torch.uint8), torch.uint8, [[1], [1]]),
    (lambda: torch.zeros_like(torch.ones(2, dtype=f64)), f64, [0, 0]), (lambda: torch.ones(2).new_full((1,), 3), f32, [3]),
    (lambda: torch.tril_indices(2, 2), i64, [[0, 1, 1], [0, 0, 1]]), (lambda: torch.ones(2).new_tensor([1, 2]), f32, [1, 2]),
    (lambda: torch.Tensor([1, 2]), f32, [1, 2]), (lambda: torch.Tensor(range(3)), f32, [0, 1, 2]),
    (lambda: torch.ones(3).to(torch.int32), torch.int32, [1, 1, 1]), (lambda: torch.tensor([1.9, -1.9]).long(), i64, [1, -1]),
    (lambda: torch.tensor([300.0]).to(torch.uint8), torch.uint8, [44]), (lambda: torch.tensor([0.5]).bool(), b1, [True]),
    (lambda: torch.tensor([1, 2]).type_as(torch.ones(1)), f32, [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "dtype", "values"), MADE)
def test_values_and_types(make, dtype, values):
    t = make()
    assert t.dtype is dtype
    np.testing.assert_allclose(t.numpy(), values, rtol=1e-6)


def test_memory_is_shared_with_numpy_and_not_by_tensor():
    a = np.zeros(3, np.float32)
    t, copy = torch.from_numpy(a), torch.tensor(a)
    a[0] = 7
    t[1] = 8
    assert a.tolist() == [7, 8, 0] and copy.tolist() == [0, 0, 0]
    assert torch.as_tensor(a).numpy() is a or np.shares_memory(torch.as_tensor(a).numpy(), a)
    assert t.numpy()[2] == 0 and np.shares_memory(t.numpy(), a)


def test_a_list_of_arrays_warns(monkeypatch):
    monkeypatch.setattr(Once, "always", True)
    with pytest.warns(UserWarning, match="from a list of numpy.ndarrays is extremely slow"):
        torch.tensor([np.ones(2), np.ones(2)])


def test_a_read_only_array_warns(monkeypatch):
    monkeypatch.setattr(Once, "always", True)
    a = np.zeros(2)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(a)


def test_casts_carry_gradients_in_the_leaf_type():
    x = torch.ones(2, requires_grad=True)
    y = x.double() * 3
    assert y.grad_fn.next_functions[0][0].name() == "ToCopyBackward0"
    y.sum().backward()
    assert x.grad.dtype is f32 and x.grad.tolist() == [3, 3]


def test_fill_copy_and_zero_have_their_gradients():
    x, v = torch.ones(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    y = x * 2
    y.fill_(v)
    y[:1].copy_(x[1:2])
    y[2:].zero_()
    y.sum().backward()
    assert y.tolist() == [1, 2, 0] and x.grad.tolist() == [0, 1, 0] and v.grad.item() == 1


def test_out_resizes_with_a_warning_and_checks_the_type():
    with pytest.warns(UserWarning, match="was resized"):
        out = torch.ones(1)
        assert torch.add(torch.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.add(torch.ones(2), 1, out=torch.empty(0))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.add(torch.ones(2), 1, out=torch.empty(2, dtype=i64))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.add(torch.ones(2, requires_grad=True), 1, out=torch.empty(2))


def test_no_numpy_warning_escapes_and_numpys_settings_stay():
    before = np.geterr()
    assert (torch.ones(2) / torch.zeros(2)).tolist() == [float("inf")] * 2
    assert np.isnan(torch.log(torch.tensor(-1.0)).item())
    assert np.geterr() == before


def test_complex_of_infinite_parts():
    inf = float("inf")
    z = torch.complex(torch.tensor([inf, 1.0, -0.0]), torch.tensor([1.0, inf, -0.0]))
    assert z.real.tolist() == [inf, 1, 0] and z.imag.tolist() == [1, inf, 0]
    assert torch.signbit(z.real)[2] and torch.signbit(z.imag)[2]
    real, imag = (torch.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [[3.0], [4.0]]))
    (torch.complex(real, imag).abs() ** 2).sum().backward()
    assert real.grad.tolist() == [4, 8] and imag.grad.tolist() == [[12], [16]]


ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("array", "strides"),
    [
        (ARRAY, (12, 4, 1)),
        (ARRAY.transpose(2, 0, 1), (1, 12, 4)),
        (np.asfortranarray(ARRAY), (1, 2, 6)),
        (ARRAY[:, ::2], (8, 4, 1)),
        (np.broadcast_to(ARRAY[0], (2, 3, 4)), (12, 4, 1)),
    ],
    ids=["rows", "transposed", "columns", "a slice", "repeated"],
)
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # of as_tensor
@pytest.mark.parametrize("kind", [None, torch.float64, torch.int32])
def test_a_copy_of_an_array_keeps_the_order_of_its_memory(array, strides, kind):
    for t in (
        torch.tensor(array, dtype=kind),
        torch.ones(1).new_tensor(array, dtype=kind),
        torch.asarray(array, dtype=kind, copy=True),
    ):
        assert t.stride() == strides or not array.flags.writeable
        assert t.tolist() == array.tolist()
    if kind is not None:
        assert torch.as_tensor(array, dtype=kind).stride() == strides


@pytest.mark.parametrize("kind", [None, torch.float64])
def test_what_shares_or_reads_an_array_that_may_not_be_written_warns(monkeypatch, kind):
    """torch's rule: `as_tensor` warns whatever type it makes, and no copy that was asked for."""
    array = np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3))
    monkeypatch.setattr(Once, "always", True)
    with pytest.warns(UserWarning, match="not writable") as caught:
        torch.tensor(array, dtype=kind)
        torch.asarray(array, dtype=kind, copy=True).fill_(1)
        assert not caught
        torch.as_tensor(array, dtype=kind)
    assert array.sum() == 6


def test_negative_strides_are_refused():
    for make in (torch.tensor, torch.as_tensor, torch.Tensor, lambda a: torch.as_tensor(a, dtype=torch.float64)):
        with pytest.raises(ValueError, match="At least one stride in the given numpy array is negative"):
            make(ARRAY[::-1])
        with pytest.raises(ValueError, match="byte order different from the native byte order"):
            make(ARRAY.astype(">f4"))


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array")  # of NumPy 2.5
def test_a_tensor_keeps_its_shape_whatever_is_done_to_its_array():
    t = torch.arange(6.0)
    for array in (t.numpy(), np.asarray(t), t.detach().numpy()):
        array.shape = 2, 3
        array.flags.writeable = False
    assert t.shape == (6,) and t.numpy() is not t.numpy()
    assert t.add_(1).tolist() == array.ravel().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    array = np.ones(3)
    t = torch.from_numpy(array)
    array.shape = 3, 1
    assert t.shape == (3,) and t.numpy() is not array
    t[0] = 5
    assert array[0, 0] == 5


@pytest.mark.parametrize("make", [torch.Tensor, torch.FloatTensor, lambda a: torch.ones(1).new(a)])
def test_older_constructors_share_the_memory_of_an_array_of_their_type(make):
    array = np.zeros(3, np.float32)
    make(array).add_(1)
    assert array.tolist() == [1.0, 1.0, 1.0]
    array = np.zeros(3)
    make(array).add_(1)
    assert array.tolist() == [0.0, 0.0, 0.0]


def test_linspace_rounds_once_by_both_ways():
    rng, plain = np.random.default_rng(0), 0
    ends = [0.0, 1.0, -1.0, 1e-30, 2.0**-140, 3e38, *rng.normal(size=20), *rng.normal(size=10) * 1e9]
    for _ in range(500):
        start, end = (np.float32(e) for e in rng.choice(ends, 2))
        n = int(rng.choice([2, 3, 10, 63, 64, 1001]))
        found = spacing._spaced_plainly(start, end, n)
        if found is None:
            continue
        count, limits = np.arange(n, dtype=np.float32), np.full(n, end)
        count[n // 2 :] -= n - 1
        limits[: n // 2] = start
        expected = spacing._fused(count, (end - start) / np.float32(n - 1), limits)
        assert (found.view(np.int32) == expected.view(np.int32)).all(), (start, end, n)
        plain += 1
    assert 250 < plain < 480  # neither way is left out


def test_linspace_as_torch():
    expected = [-0.6396825313568115, 1.1698412895202637, 1.2301586866378784, 3.039682388305664]
    assert torch.linspace(-0.7, 3.1, 64)[[1, 31, 32, 62]].tolist() == expected


N = 10**13
TOO_LARGE = {
    "zeros": (lambda: torch.zeros(N), 4 * N), "rand": (lambda: torch.rand(N), 4 * N), "arange": (lambda: torch.arange(N), 8 * N),
    "full": (lambda: torch.full((N,), 1), 8 * N), "zeros_like": (lambda: torch.zeros_like(torch.zeros(1).expand(N)), 4 * N),
    "linspace": (lambda: torch.linspace(0, 1, N), 4 * N), "eye": (lambda: torch.eye(10**7), 4 * 10**14),
    "repeat": (lambda: torch.zeros(2).repeat(N), 8 * N), "add": (lambda: torch.zeros(1).expand(N) + 1, 4 * N),
    "resize_": (lambda: torch.zeros(2).resize_(N), 4 * N), "FloatTensor": (lambda: torch.FloatTensor(N), 4 * N),
    "Linear": (lambda: torch.nn.Linear(10**7, 10**7), 4 * 10**14),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_LARGE)
def test_memory_that_is_not_there(name):
    make, size = TOO_LARGE[name]
    with pytest.raises(
        RuntimeError, match=f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} "
    ):
        make()


def test_asarray_decides_about_gradients(monkeypatch):
    monkeypatch.setattr(Once, "given", set())
    leaf = torch.ones(2, requires_grad=True)
    result = leaf * 2
    with pytest.warns(UserWarning, match="unspecified requires_grad now defaults"):
        assert torch.asarray(result) is result
    assert not torch.asarray(result, requires_grad=False).requires_grad and result.requires_grad
    assert torch.asarray(leaf, requires_grad=False) is leaf and not leaf.requires_grad
    assert torch.asarray(leaf, requires_grad=True) is leaf and leaf.requires_grad
    assert torch.asarray([1.0], requires_grad=True).requires_grad


@pytest.mark.parametrize("data", [1e300, -1e39, [1.0, 1e300], [[1e300]], float("nan"), [float("inf")]])
def test_numbers_beyond_a_type_warn_of_nothing(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t = torch.tensor(data)
    assert t.dtype is f32 and not t.isfinite().all()


def test_numbers_by_themselves_take_the_default_type():
    torch.set_default_dtype(f64)
    try:
        assert torch.tensor(0.1).dtype is f64 and torch.tensor(0.1).item() == 0.1
    finally:
        torch.set_default_dtype(f32)
    assert torch.tensor(-0.0).signbit() and torch.tensor(1 << 40).item() == 1 << 40
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor(1 << 63)


@pytest.mark.parametrize("dtype", [f32, torch.float16, torch.bfloat16, f64], ids=str)
def test_spaced_numbers_and_draws_beyond_a_type_warn_of_nothing(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.linspace(-3e38 if dtype is not torch.float16 else -6e4, 6e4, 3, dtype=dtype)
        assert dtype is f64 or torch.logspace(30, 50, 5, dtype=dtype)[-1] == math.inf
        assert torch.arange(0, 1e39, 1e38)[-1] == math.inf
        assert dtype is f64 or not torch.empty(40, dtype=dtype).normal_(0, 1e39).isfinite().all()
        assert dtype is not torch.float16 or (torch.full((2,), 60000.0, dtype=dtype) * 2.5).isinf().all()


@pytest.mark.parametrize("dtype", [f32, torch.float16], ids=str)
def test_a_number_to_scatter_has_to_fit(dtype):
    with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
        torch.ones(2, dtype=dtype).scatter_(0, torch.tensor([0]), 1e39, reduce="multiply")
