"""Arguments of a wrong kind that computed something else in silence; the errors are torch 2.13's."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

X = torch.tensor([[0.25, 0.5], [0.75, 0.9]])
CALLS = {
    "logit(): argument 'eps' (position 2) must be float, not Tensor": lambda: torch.logit(X, X),
    "logit_(): argument 'eps' (position 1) must be float, not Tensor": lambda: X.clone().logit_(X),
    "hardtanh_(): argument 'min_val' (position 2) must be Number, not tuple": lambda: F.hardtanh_(X.clone(), (1,)),
    "hardshrink(): argument 'lambd' (position 2) must be Number, not Tensor": lambda: F.hardshrink(X, X),
    "flip(): argument 'dims' (position 2) must be tuple of ints, not Tensor": lambda: torch.flip(X, torch.zeros(0)),
    "rot90(): argument 'k' (position 2) must be int, not Tensor": lambda: torch.rot90(X, torch.tensor(2)),
    "pinverse(): argument 'rcond' (position 2) must be float, not Tensor": lambda: torch.pinverse(X, X),
    "poisson_nll_loss(): argument 'target' (position 2) must be Tensor, not int": lambda: F.poisson_nll_loss(X, 0),
    "to_dense(): argument 'dtype' (position 1) must be torch.dtype, not Tensor": lambda: X.to_dense(X),
    "linalg_vander() takes 1 positional argument but 2 were given": lambda: torch.linalg.vander(X, 2),
    'frobenius_norm() missing 1 required positional arguments: "dim"': lambda: torch.frobenius_norm(X),
}


@pytest.mark.parametrize("message", CALLS)
def test_kinds(message):
    with pytest.raises(TypeError) as caught:
        CALLS[message]()
    assert str(caught.value).startswith(message)


def test_values():
    with pytest.raises(RuntimeError, match="pdist only supports non-negative p values"):
        torch.pdist(X, -1)
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        torch.gradient(X > 0.5)


def test_trapezoids_of_one_row_at_many_places():
    """`dim` counts from the front of y; places with more dimensions are cut along the same number."""
    y, x = torch.tensor([0, 1]), torch.tensor([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    assert torch.cumulative_trapezoid(y, x).tolist() == [[-0.5, 1.0, 0.5], [-1.0, 0.0, 2.0]]
    assert torch.trapezoid(y, x).tolist() == [-1.0, 0.0, 2.0]
    assert torch.trapezoid(torch.ones(2, 2, 3), x[:2]).tolist() == [[-2.0, 0.0]] * 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_number_before_a_short_float_without_dimensions(dtype, requires_grad):
    t = torch.tensor(3.0, dtype=dtype, requires_grad=requires_grad)
    for number in (True, 2, 2.5):
        assert torch.mul(number, t).dtype is (number * t).dtype is torch.multiply(number, t[None]).dtype is dtype
        assert torch.mul(number, t).item() == number * 3


@pytest.mark.parametrize("name", ["floor_divide_", "fmod_", "atan2_", "gcd_", "bitwise_and_", "xlogy_", "clamp_min_"])
def test_in_place_sizes_come_before_types(name):
    x = torch.tensor(1j) if name not in ("gcd_", "bitwise_and_") else torch.tensor(1.0)
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[3\]"):
        getattr(x, name)(torch.ones(3))
    with pytest.raises(NotImplementedError):
        getattr(x, name)(torch.ones(()))


def test_limits_of_other_kinds():
    for call in (lambda: X.clamp_min(1j), lambda: X.clamp_max(1j), lambda: torch.tensor([1]).clamp(1j)):
        with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
            call()
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        X.clamp(1j)
    mask = torch.tensor([True])
    with pytest.raises(NotImplementedError, match="\"clamp_cpu\" not implemented for 'Bool'"):
        mask.clamp(mask, mask)
    assert mask.clamp(max=mask).tolist() == [True]
    with pytest.raises(RuntimeError, match="result type Char can't be cast to the desired output type Bool"):
        mask.clone().clamp_min_(torch.tensor([1], dtype=torch.int8))
    with pytest.raises(TypeError, match=r"ldexp\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        torch.ldexp(2, X)


def test_options_of_reductions():
    for message, call in {
        "diff(): argument 'n' (position 2) must be int, not float": lambda: torch.diff(X, 0.5),
        "diff(): argument 'dim' (position 3) must be int, not bool": lambda: torch.diff(X, 1, True),
        "softmax(): argument 'dtype' (position 3) must be torch.dtype, not int": lambda: torch.softmax(X, 0, 1),
    }.items():
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_parts_of_a_complex_mean_are_apart():
    x = torch.tensor([3 + 0j, complex(float("nan"), 2)])
    for call in (torch.var_mean, torch.std_mean):
        spread, mean = call(x)
        assert spread.isnan() and mean.real.isnan() and mean.imag.item() == 1
    spread, mean = torch.var_mean(torch.tensor([[1 + 1j, 3 - 1j]], requires_grad=True), 1, keepdim=True)
    assert mean.tolist() == [[2 + 0j]] and spread.tolist() == [[4.0]] and mean.requires_grad


def test_lists_of_tensors():
    with pytest.raises(TypeError, match=r"^_foreach_abs_\(\) takes 1 positional argument but 2 were given"):
        torch._foreach_abs_([X], 1)
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch._foreach_lerp_([X], [X])
    with pytest.raises(TypeError, match="lerp_"):
        X.clone().lerp_(X, None)
    with pytest.raises(NotImplementedError, match="\"powsum_cpu\" not implemented for 'Long'"):
        torch._foreach_powsum([torch.tensor([1])])
    for call in (torch._foreach_norm, torch._foreach_powsum):
        with pytest.raises(RuntimeError):
            call([X], 1j)
