"""Operators of tensors with numbers, NumPy arrays and what is neither, as a user mixes them. Values are torch's."""

import operator

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F

FOREIGN = (None, "a", [1.0, 2.0], (1.0,))
BINARY = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow)
IN_PLACE = (
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
)


@pytest.mark.parametrize("value", FOREIGN, ids=repr)
@pytest.mark.parametrize("f", BINARY + IN_PLACE, ids=lambda f: f.__name__)
def test_a_foreign_operand_is_pythons_type_error(f, value):
    for t in (torch.ones(2), torch.tensor([True, False])):
        with pytest.raises(TypeError, match=r"unsupported operand type|integer tensors of a single element") as caught:
            f(t, value)
        assert caught.type is TypeError


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "eq", "add_", "mul_", "pow_"])
@pytest.mark.parametrize("value", FOREIGN, ids=repr)
def test_a_foreign_argument_is_a_type_error(name, value):
    with pytest.raises(TypeError) as caught:
        getattr(torch.ones(2), name)(value)
    assert caught.type is TypeError


@pytest.mark.parametrize("f", [operator.add, operator.sub, operator.mul, operator.truediv, operator.iadd])
def test_a_numpy_array_on_the_right_gives_a_tensor(f):
    r = f(torch.tensor([1.0, 2.0]), np.array([4.0, 8.0]))
    assert type(r) is torch.Tensor and r.dtype is torch.float64
    a = np.array([1.0, 2.0])
    assert np.array_equal(r.numpy(), f(a, np.array([4.0, 8.0])))


def test_a_numpy_array_on_the_left_is_refused_as_in_torch_but_divided():
    a, t = np.array([4.0, 8.0]), torch.tensor([1.0, 2.0])
    r = a / t
    assert type(r) is torch.Tensor and r.dtype is torch.float64 and r.tolist() == [4.0, 4.0]
    for f in (operator.add, operator.sub, operator.mul, operator.matmul, operator.pow, operator.lt):
        with pytest.raises(TypeError):
            f(a, t)
    assert (a == t).tolist() == [False, False]


def test_numpy_functions_of_tensors_give_tensors():
    r = np.exp(torch.tensor([0.0, 1.0]))
    assert type(r) is torch.Tensor and r.dtype is torch.float32
    assert np.allclose(r.numpy(), np.exp(np.array([0, 1], np.float32)))


def test_equality_with_a_numpy_array_compares_elements():
    r = torch.tensor([1.0, 2.0]) == np.array([1, 3])
    assert r.dtype is torch.bool and r.tolist() == [True, False]
    assert (torch.tensor([1.0]) == "a") is False
    with pytest.raises(TypeError):
        operator.lt(torch.tensor([1.0]), np.array([1.0]))


@pytest.mark.parametrize(
    ("dtype", "other", "alpha", "expected"),
    [
        (torch.int8, torch.tensor([True, False]), 2, torch.int8),
        (torch.float16, torch.tensor([1, 2]), 1.5, torch.float16),
        (torch.bool, torch.tensor([True, False]), 2, torch.bool),
    ],
)
def test_alpha_has_no_say_in_the_result_type(dtype, other, alpha, expected):
    assert torch.add(torch.ones(2).to(dtype), other, alpha=alpha).dtype is expected


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: F.mse_loss(x, y),
        lambda x, y: F.smooth_l1_loss(x, y),
        lambda x, y: torch.outer(x, y),
        lambda x, y: torch.addcmul(x, y, y),
        lambda x, y: torch.xlogy(x, 2),
    ],
)
def test_integers_beside_floats_keep_the_float_type(call):
    """A general kernel once met mixed types unconverted, and NumPy made float64 of float32 with int64."""
    x = torch.tensor([0.5, 1.5, 2.5], requires_grad=True)
    r = call(x, torch.tensor([1, 2, 3]))
    assert r.dtype is torch.float32
    r.sum().backward()
    assert x.grad.dtype is torch.float32


def test_integer_division_in_addcdiv_is_refused():
    whole = torch.tensor([4, 2])
    for input in (whole, torch.ones(2)):
        with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
            torch.addcdiv(input, whole, whole)


def test_an_eager_step_gives_no_numpy_warning():
    """NumPy 2.4 deprecates a third positional argument of maximum (warnings are errors in these tests)."""
    x = torch.randn(2, 3, 9, 9, requires_grad=True)
    for options in ({}, {"stride": 1}, {"padding": 1}, {"dilation": 2}):
        F.max_pool2d(x, 3, **options).sum().backward()


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: torch.xlogy(x, 2), 0.693147),
        (lambda x: torch.special.xlog1py(x, 1), 0.693147),
        (lambda x: torch.pow(2.0, x), 0.980258),
        (lambda x: x % 2, 1.0),
    ],
)
def test_a_number_beside_a_tensor_leaves_it_differentiable(f, slope):
    x = torch.tensor(0.5, requires_grad=True)
    f(x).backward()
    assert x.grad.item() == pytest.approx(slope, abs=1e-5)


def test_a_negative_base_has_a_silent_nan_gradient():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    torch.pow(-1.0, x).sum().backward()
    assert torch.isnan(x.grad).all()
