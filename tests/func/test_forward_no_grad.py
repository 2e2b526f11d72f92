"""Forward mode and `no_grad`: a tangent is right, or there is an error; torch gives the tangent in each case."""

import pytest

import rushlight as torch
from rushlight import func, nn
from rushlight.autograd import forward_ad

X, V = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)


def through(x):
    with torch.no_grad():
        c = (x * 2).reshape(3)
    return x * c


def beside(x):
    """What the value depends on has no tangent in torch either."""
    with torch.no_grad():
        mask, copied = (x > 1).float(), x.detach() * 2
        x.mean()
    return x * mask * copied


WAYS = {
    "jvp": lambda f: func.jvp(f, (X,), (V,))[1],
    "jacfwd": lambda f: func.jacfwd(f)(X).sum(1),
    "linearize": lambda f: func.linearize(f, X)[1](V),
    "vmap": lambda f: func.vmap(lambda x: func.jvp(f, (x,), (V,))[1])(torch.stack([X, X]))[1],
    "jacfwd in vmap": lambda f: func.vmap(func.jacfwd(f))(torch.stack([X, X]))[1].sum(1),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_computed_under_no_grad_is_refused(way):
    with pytest.raises(NotImplementedError, match=r"forward-mode differentiation through torch.no_grad\(\)"):
        WAYS[way](through)
    assert WAYS[way](beside).tolist() == [0.0, 4.0, 6.0]


def test_second_derivatives():
    with pytest.raises(NotImplementedError, match="forward-mode"):
        func.hessian(lambda x: through(x).sum())(X)
    assert func.jacrev(lambda x: through(x).sum())(X).tolist() == [2.0, 4.0, 6.0]  # backward, no_grad cuts


def test_dual_tensors():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, V)
        with torch.no_grad():
            cut = dual * dual
            assert forward_ad.unpack_dual(dual).tangent is V
        for result in (cut, cut.exp(), cut * dual):
            with pytest.raises(NotImplementedError, match="forward-mode"):
                forward_ad.unpack_dual(result)
        assert forward_ad.unpack_dual(dual * dual).tangent.tolist() == [2.0, 4.0, 6.0]
        assert forward_ad.unpack_dual(dual.detach() * 2).tangent is None
    assert torch.autograd.forward_ad.unpack_dual(cut).tangent is None


def test_statistics_updated_under_no_grad_do_no_harm():
    norm, weight = nn.BatchNorm1d(3).requires_grad_(False), torch.ones(3, requires_grad=True)
    tangent = func.jvp(lambda x: norm(torch.stack([x, x * x + x])), (X,), (V,))[1]
    assert tangent.shape == (2, 3) and not norm.running_mean.requires_grad and norm.running_mean.sum() != 0

    def scaled(x):
        with torch.no_grad():
            factor = weight * 2  # a parameter, not a point
        return x * factor

    assert func.jvp(scaled, (X,), (V,))[1].tolist() == [2.0, 2.0, 2.0]


def test_results_under_no_grad_have_no_history():
    with torch.no_grad():
        for result in (
            func.jacfwd(torch.square)(X),
            func.hessian(lambda x: (x**3).sum())(X),
            WAYS["jvp"](torch.square),
        ):
            assert not result.requires_grad


@pytest.mark.parametrize("of", ["primal", "tangent", "weight"])
def test_backward_over_forward(of):
    """What is unpacked keeps the history that does not come from the dual tensor itself. f = (w x)^2 along t."""
    x, t, w = (
        torch.tensor(v).requires_grad_(of == name) for v, name in ((3.0, "primal"), (5.0, "tangent"), (2.0, "weight"))
    )
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        primal, tangent = forward_ad.unpack_dual((dual * w).square())
        assert (primal.item(), tangent.item()) == (36.0, 120.0)  # w^2 x^2, 2 w^2 x t
        assert primal.requires_grad == (of != "tangent") and tangent.requires_grad
        tangent.backward()
    assert {"primal": x, "tangent": t, "weight": w}[of].grad.item() == {
        "primal": 40.0,
        "tangent": 24.0,
        "weight": 120.0,
    }[of]


def test_no_history_where_nothing_requires_grad():
    with forward_ad.dual_level():
        parts = forward_ad.unpack_dual(forward_ad.make_dual(X, V).exp())
    assert not any(part.requires_grad for part in parts)
