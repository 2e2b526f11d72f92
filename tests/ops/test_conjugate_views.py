"""`x.conj()` is a view: its elements are worked out when they are read, and what is written to it changes `x`."""

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck


@pytest.fixture
def x():
    return torch.tensor([[1 + 2j, 3 - 4j, 5j], [6.0, -7 - 1j, 2 + 2j]])


def test_writes_show_in_both(x):
    y = x.conj()
    assert y.is_conj() and y._base is x and y.data_ptr() == x.data_ptr() and not x.is_conj()
    x.mul_(2)
    assert y[0].tolist() == [2 - 4j, 6 + 8j, -10j]
    y[0, 1] = 1j
    assert x[0, 1].item() == -1j
    y.T[0].mul_(1j)
    assert x[0, 0].item() == 4 - 2j
    y[y.abs() > 5] = 0
    assert x[1, 0].item() == 0
    y.copy_(torch.ones(2, 3) + 1j)
    assert (x == 1 - 1j).all()
    torch.add(y, 1, out=y)
    assert (x == 2 - 1j).all() and y._version == x._version


def test_views_of_it_are_conjugated_and_other_results_are_not(x):
    y = x.conj()
    for view in (y.T, y[0], y.view(-1), y.detach(), y.expand(2, 2, 3), y.unbind(0)[1], y.as_strided((2,), (1,)), x.mH):
        assert view.is_conj()
    for other in (y.clone(), y + 0, y[[0]], y.to(torch.complex128), y.resolve_conj(), y.conj_physical(), y.conj()):
        assert not other.is_conj()
    assert y.conj()._base is x and torch.equal(y.conj(), x)
    assert y.view(3, 2).stride() == (2, 1)


def test_parts(x):
    y = x.conj()
    assert not y.real.is_neg() and y.imag.is_neg() and y.imag.stride() == (6, 2)
    assert y.imag.tolist() == (-x.imag).tolist()
    y.imag.fill_(7)
    y.real[0] = 1
    assert x[0].tolist() == [1 - 7j] * 3
    assert y.imag.resolve_neg().sum().item() == 42
    assert (y.imag @ y.imag.T).tolist() == [[147.0] * 2] * 2
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(y)
    with pytest.raises(RuntimeError, match="not supported for conjugate view tensors"):
        y.view(torch.float32)


def test_negative_views():
    a = torch.arange(3.0)
    n = torch._neg_view(a)
    n[0] = 5
    a.add_(1)
    assert a.tolist() == [-4.0, 2.0, 3.0] and n.tolist() == [4.0, -2.0, -3.0]
    assert (n + n).tolist() == [8.0, -4.0, -6.0] and torch.cat([a, n]).tolist() == [-4.0, 2.0, 3.0, 4.0, -2.0, -3.0]


def test_numpy_wants_it_resolved(x):
    y = x.conj()
    for read in (y.numpy, lambda: np.asarray(y)):
        with pytest.raises(RuntimeError, match=r"conjugate bit set. Use tensor.resolve_conj\(\)"):
            read()
    assert np.array_equal(y.numpy(force=True), np.conj(x.numpy()))
    with pytest.raises(RuntimeError, match="negative bit set"):
        y.imag.numpy()


def test_saved_and_copied(x):
    y = x.conj()
    file = io.BytesIO()
    torch.save({"x": x, "y": y}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["y"].is_conj() and torch.equal(loaded["y"], y)
    loaded["x"].zero_()
    assert not loaded["y"].any()
    assert torch.equal(pickle.loads(pickle.dumps(y)), y)
    assert torch.equal(copy.deepcopy(y), y) and not copy.deepcopy(y).is_conj()


def test_gradients(x):
    x = x.to(torch.complex128).requires_grad_()

    def write(x):
        z = x * 1
        z.conj().mul_(2j)
        z.conj()[0] = x[1]
        z.conj().imag.mul_(3)
        z.conj().exp_()
        return z

    def read(x):
        z = x * 1
        y = z.conj()
        z.mul_(3j)
        return y * x + y.imag - y.mH.real.T

    for f in (write, read):
        assert gradcheck(f, (x * 0.1).detach().requires_grad_())
        assert gradgradcheck(f, (x * 0.1).detach().requires_grad_())
    assert type(x.conj().grad_fn).__name__ == "ConjBackward0"
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x.conj().mul_(2)


def test_what_is_kept_for_backward_is_watched(x):
    z = x.requires_grad_() * 1
    y = z.conj()
    u = y * y
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        u.abs().sum().backward()


def test_recorded_calls_and_batches_compute_it(x):
    f = torch.compile(lambda v: v.conj() * 2)
    for _ in range(4):
        assert torch.equal(f(x), x.conj() * 2)
    assert torch.equal(torch.func.vmap(lambda v: v.conj() * v)(x.conj()), x * x.conj())


def outcome(f, *args):
    """What a call gives, as text; the class of what it raises."""
    try:
        result = f(*args)
    except Exception as error:
        return type(error).__name__
    return f"{result.dtype} {tuple(result.shape)} {result.resolve_conj().resolve_neg().tolist()}"


UNARY = (
    "abs alias_copy angle bitwise_not detach_copy exp isfinite nan_to_num neg prod reciprocal sgn square squeeze_copy std sum "
    "t_copy tensor"
)
BINARY = "add atan2 eq gcd ge hypot kron logaddexp logical_and lt maximum mul"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)], ids=str)
def test_operators_see_its_elements_in_any_number_of_dimensions(shape):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.complex64)
    view, plain = x.conj(), x.conj().resolve_conj()
    for names, rest in ((UNARY, []), ("cumprod cumsum unsqueeze_copy", [0]), (BINARY, [1j])):
        for f in [getattr(torch, name) for name in names.split()]:
            assert outcome(f, view, *rest) == outcome(f, plain, *rest), f
    for f in [getattr(torch, name) for name in BINARY.split()]:
        assert outcome(f, view, view) == outcome(f, plain, plain), f


def test_a_negated_view_is_seen_as_pairs():
    x = torch.complex(torch.ones(2), torch.ones(2) * 2)
    pairs = torch.view_as_real(x._neg_view())
    assert pairs.tolist() == [[-1.0, -2.0]] * 2 and pairs.is_neg()
    pairs.add_(3.0)
    assert x.tolist() == [-2 - 1j] * 2
    with pytest.raises(RuntimeError, match="unresolved conjugated"):
        torch.view_as_real(x.conj()._neg_view())
