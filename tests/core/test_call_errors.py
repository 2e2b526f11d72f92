"""Wrong arguments give torch's message: how the program made the call is read from its bytecode, once it has failed."""

import gc
import inspect
import weakref

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import linalg
from rushlight.core.dispatch.python_signatures import overloads_of, parse_error

X = torch.ones(2, 3)
ROUND = """\
round() received an invalid combination of arguments - got (Tensor, out=int), but expected one of:
 * (Tensor input, *, Tensor out = None)
 * (Tensor input, *, int decimals, Tensor out = None)
"""
CONV = """\
conv2d() received an invalid combination of arguments - got (Tensor, str), but expected one of:
 * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, tuple of ints padding = 0, \
tuple of ints dilation = 1, int groups = 1)
 * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, str padding = "valid", \
tuple of ints dilation = 1, int groups = 1)
"""
CALLS = [
    ("argmax(): argument 'dim' (position 2) must be int, not str", lambda: torch.argmax(X, "2")),
    ("argmax(): argument 'dim' (position 1) must be int, not str", lambda: X.argmax("2")),
    ("argmax(): argument 'dim' must be int, not str", lambda: torch.argmax(X, dim="2")),
    ("argmax(): argument 'dim' (position 1) must be int, not str", lambda: torch.Tensor.argmax(X, "2")),
    ("argmax(): argument 'dim' (position 1) must be int, not str", lambda: (X + 1).abs().argmax("2")),
    ("sum(): argument 'keepdim' (position 3) must be bool, not str", lambda: torch.sum(X, 1, "yes")),
    ("sum(): argument 'keepdim' (position 2) must be bool, not str", lambda: X.sum(1, "yes")),
    ("swapaxes(): argument 'input' (position 1) must be Tensor, not str", lambda: torch.swapaxes("abc", 0, 1)),
    ("mul_(): argument 'other' (position 1) must be Tensor, not str", lambda: X.mul_("a")),
    ("maximum(): argument 'other' (position 1) must be Tensor, not int", lambda: X.maximum(3)),
    ("linalg_det(): argument 'A' (position 1) must be Tensor, not str", lambda: linalg.det("a")),
    ("gelu(): argument 'approximate' must be str, not int", lambda: F.gelu(X, approximate=3)),
    ("chunk(): argument 'chunks' (position 1) must be int, not torch.dtype", lambda: X.chunk(torch.float32)),
    (ROUND, lambda: torch.round(X, out=3)),
    (CONV, lambda: F.conv2d(X, "a")),
    (
        "any() received an invalid combination of arguments - got (Tensor), but expected one of:\n * ()\n"
        "      didn't match because some of the arguments have invalid types: (!Tensor!)\n"
        " * (tuple of ints dim = None, bool keepdim = False)\n * (int dim, bool keepdim = False)\n",
        lambda: X.any(X),
    ),
]


CALLS_OF_WRONG_FORM = [
    ('maximum() missing 1 required positional arguments: "other"', lambda: torch.maximum(X)),
    ('maximum() missing 1 required positional arguments: "other"', lambda: X.maximum()),
    ('arcsin() missing 1 required positional arguments: "input"', lambda: torch.arcsin()),
    ('transpose() missing 2 required positional argument: "dim0", "dim1"', lambda: X.transpose()),
    ("TensorBase.exp() takes no arguments (2 given)", lambda: X.exp(1, 2)),
    ("exp_() takes 1 positional argument but 2 were given", lambda: torch.exp_(X, 3)),
    ("TensorBase.exp_() takes no arguments (1 given)", lambda: X.clone().exp_(3)),
    ("copysign_() received an invalid combination of arguments - got (), but expected", lambda: X.clone().copysign_()),
    ("amax() takes from 0 to 2 positional arguments but 3 were given", lambda: X.amax(0, True, 3)),
    ("logaddexp2() takes 1 positional argument but 5 were given", lambda: X.logaddexp2(1, 2, 3, 4, 5)),
    ('cumsum() missing 1 required positional arguments: "dim"', lambda: torch.cumsum(X, foo=1)),
    ("cumsum() got an unexpected keyword argument 'foo'", lambda: torch.cumsum(X, 0, foo=1)),
    ('linalg_ldl_solve() missing 1 required positional arguments: "B"', lambda: linalg.ldl_solve(X, X)),
    ("addmm() received an invalid combination of arguments", lambda: torch.addmm(X, X, X, 2, 3)),
    # where the bytecode does not say how many arguments there are
    ("outer() takes 2 positional arguments but 3 were given", lambda: torch.outer(*(X, X, X))),
    ('maximum() missing 1 required positional arguments: "other"', lambda: torch.maximum(*(X,))),
    ("cumsum() got an unexpected keyword argument 'foo'", lambda: torch.cumsum(*(X, 0), foo=2)),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), CALLS_OF_WRONG_FORM)
def test_calls_of_the_wrong_form(message, call):
    for _ in range(2):  # an entry point is compiled at its first call
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_signatures_show_no_surplus():
    assert str(inspect.signature(torch.maximum)) == "(input, other, *, out=None)"
    assert str(inspect.signature(torch.Tensor.exp_)) == "(input)"
    assert str(inspect.signature(torch.Tensor.mul_)) == "(self, other)"
    assert "more" not in str(inspect.signature(torch.cumsum)) and "unknown" not in str(inspect.signature(torch.cumsum))
    assert torch.ones(2).__eq__(...) is NotImplemented and (torch.ones(2) == ...) is False


@pytest.mark.parametrize(("message", "call"), CALLS)
def test_message(message, call):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_calls_over_several_lines():
    with pytest.raises(TypeError, match=r"'dim' \(position 1\)"):
        (
            X.abs()
            .argmax("b")
        )  # fmt: skip


def test_names_without_a_module():
    argmax = torch.argmax
    with pytest.raises(TypeError, match=r"'dim' \(position 2\)"):
        argmax(X, "b")


def test_other_names_of_methods_and_functions():
    put, where = X.index_put, (torch.tensor([0, 1]),)
    with pytest.raises(RuntimeError, match="dtypes match"):
        put(where, torch.ones(3, dtype=torch.float64))

    class Layer:
        sum = staticmethod(torch.linalg.vector_norm)

    with pytest.raises(TypeError, match="vector_norm"):
        Layer().sum(X, "a", "b")


def test_arguments_that_cannot_be_read_leave_the_operators_own_message():
    with pytest.raises(TypeError, match=r"'dim'.* must be int, not str"):
        torch.argmax(*[X, "b"])
    with pytest.raises(TypeError, match=r"'dim'.* must be int, not str"):
        list(map(torch.argmax, [X], ["b"]))


def test_errors_of_right_arguments_stay():
    with pytest.raises(IndexError, match="Dimension out of range"):
        X.argmax(5)
    with pytest.raises(RuntimeError, match="must match the size"):
        X.add(torch.ones(4))


def test_reading_a_call_keeps_no_variables():
    gc.collect()
    t = torch.ones(3)
    seen = weakref.ref(t)
    with pytest.raises(TypeError):
        t.argmax("b")
    del t
    assert seen() is None


PARSED = [  # recorded from torch 2.13
    (("torch", "max", (X, 1, "z"), {}), "max() received an invalid combination of arguments - got (Tensor, int, str), but expected one of:\n * (Tensor input, *, Tensor out = None)\n      didn't match because some of the arguments have invalid types: (Tensor, !int!, !str!)\n * (Tensor input, Tensor other, *, Tensor out = None)\n * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)\n"),
    (("torch", "max", (X, 1, 2, 3), {}), "max() takes from 2 to 3 positional arguments but 4 were given"),
    (("torch", "exp", (), {}), 'exp() missing 1 required positional arguments: "input"'),
    (("Tensor", "exp", ("z",), {}), "TensorBase.exp() takes no arguments (1 given)"),
    (("Tensor", "exp", (), {"foo": 1}), "TensorBase.exp() takes no keyword arguments"),
    (("torch", "argmax", (X,), {"bad": 1}), "argmax() got an unexpected keyword argument 'bad'"),
    (("torch", "argmax", (X, 1), {"dim": 1}), "argmax() got multiple values for argument 'dim'"),
    (("Tensor", "addmm", (X,), {}), "addmm() received an invalid combination of arguments - got (Tensor), but expected (Tensor mat1, Tensor mat2, *, Number beta = 1, Number alpha = 1)"),
    (("Tensor", "view", (1, "a"), {}), "view(): argument 'size' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but got str\""),
    (("torch", "cat", ([X, 1],), {}), "expected Tensor as element 1 in argument 0, but got int"),
    (("torch", "zeros", (2, 3), {"out": 3}), "zeros(): argument 'out' must be Tensor, not int"),
    (("torch", "add", (X, [1, 2]), {}), "add(): argument 'other' (position 2) must be Tensor, not list"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), PARSED)
def test_parser(call, message):
    assert str(parse_error(*call)) == message


def test_parser_takes_what_torch_takes():
    number = torch.tensor(1)
    for kind, name, args, kwargs in (
        ("torch", "sum", (X, 0), {"keepdims": True}),
        ("torch", "sum", (X,), {"axis": (0, 1)}),
        ("torch", "add", (X, 2), {"alpha": np.float32(2)}),
        ("Tensor", "view", (2, number), {}),
        ("Tensor", "argmax", (number,), {}),
        ("torch", "argmax", (X, np.int64(1)), {}),
        ("torch", "zeros", (2, 3), {"dtype": torch.int32, "device": "cpu"}),
        ("torch", "zeros", ((2, 3),), {"dtype": int}),
        ("nn", "conv2d", (X, X), {"padding": "same", "stride": 2}),
    ):
        assert overloads_of(kind, name)
        assert parse_error(kind, name, args, kwargs) is None
    assert parse_error("torch", "no_such_name", (), {}) is None


WRONG = [
    (TypeError, "'dim'.* must be int, not bool", lambda: X.unsqueeze(True)),
    (TypeError, "'dim'.* must be int, not Tensor", lambda: X.unsqueeze(torch.tensor(True))),
    (TypeError, "'dim'.* must be int, not Tensor", lambda: X.argmax(torch.tensor(True))),
    (TypeError, "'dim'.* must be int, not bool", lambda: X.size(True)),
    (TypeError, "'dim'.* must be int, not bool", lambda: X.stride(True)),
    (TypeError, r"tile\(\): argument 'dims' \(position 2\) must be tuple of ints, not int", lambda: torch.tile(X, 5)),
    (TypeError, r"set_\(\) received an invalid combination of arguments - got \(NoneType\)", lambda: X.set_(None)),
    (TypeError, "object of type 'NoneType' has no len", lambda: F.adaptive_avg_pool2d(torch.ones(1, 3, 8, 8), None)),
    (TypeError, "'int' object is not callable", lambda: F.l1_loss(X, X.numpy())),
    (AttributeError, "'list' object has no attribute 'size'", lambda: F.mse_loss(X, [1.0])),
    (RuntimeError, "unresolved conjugated", lambda: torch.view_as_real(torch.ones(2, dtype=torch.complex64).conj())),
]


@pytest.mark.parametrize(("error", "message", "call"), WRONG)
def test_refused_as_by_torch(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_numbers_in_tensors_are_dimensions():
    one = torch.tensor(1)
    assert X.unsqueeze(one).shape == (2, 1, 3)
    assert X.sum(torch.tensor(True)).shape == (2,)  # a list of one
    assert X.squeeze(torch.tensor(True)).shape == (2, 3)
    assert X.sum((0, True)).shape == ()


def test_random_numbers_without_an_upper_bound():
    torch.manual_seed(0)
    x = torch.zeros(100).random_(0, None)
    torch.manual_seed(0)
    assert torch.equal(x, torch.zeros(100).random_())


def test_an_error_that_rushlight_itself_handles_stays_its_own():
    """reshape() tries view() first, whose error must not be taken for one of the program's call with sizes of a trace."""
    x, two = torch.arange(12).view(3, 4).t(), torch.tensor(2)
    assert x.reshape(two, 6).shape == (2, 6)
    assert x.reshape((two, 6)).shape == (2, 6)
