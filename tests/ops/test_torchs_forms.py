"""Forms of calls, layouts of results and refusals that are torch's (2.13), with its values where it computes."""

import warnings

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.core.warn import Once

A = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: torch.add(1, 2), torch.tensor(3)),
        (lambda: torch.add(2.5, 2), torch.tensor(4.5)),
        (lambda: torch.sub(True, 2), None),
        (lambda: torch.mul(2, 3.5), torch.tensor(7.0)),
        (lambda: torch.div(1, 2), torch.tensor(0.5)),
        (lambda: torch.floor_divide(7, 2), torch.tensor(3)),
        (lambda: torch.mul(1j, 2), torch.tensor(2j)),
    ],
)
def test_numbers_alone(call, expected):
    if expected is None:
        with pytest.raises(RuntimeError, match="Subtraction"):
            call()
        return
    result = call()
    assert result.dtype is expected.dtype and result == expected


def test_a_number_from_a_tensor_that_requires_grad_warns_once():
    w = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Once.given -= {m for m in Once.given if m.startswith("Converting a tensor")}
        int(w), bool(w), w.item()
        with torch.no_grad():
            float(w)
        assert not caught
        assert float(w) == 1.0 and "%.1f" % w == "1.0"  # noqa: UP031
    assert [str(c.message)[:47] for c in caught] == ["Converting a tensor with requires_grad=True to "]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "call, place, strides",
    [
        (lambda: torch.linalg.inv(A), None, (1, 3)),
        (lambda: torch.linalg.cholesky(A), None, (1, 3)),
        (lambda: torch.linalg.qr(A[:, :2]), 0, (1, 3)),
        (lambda: torch.linalg.svd(A), 2, (1, 3)),
        (lambda: torch.linalg.eigh(A), 1, (1, 3)),
        (lambda: torch.linalg.solve(A, torch.ones(3, 2)), None, (1, 3)),
        (lambda: torch.linalg.solve(A.expand(2, 3, 3), torch.ones(3, 2)), None, (6, 1, 3)),
        (lambda: torch.linalg.lu_factor(A), 0, (1, 3)),
        (lambda: torch.nonzero(A), None, (1, 7)),
        (lambda: torch.nonzero(A, as_tuple=True), 0, (1,)),
        (lambda: torch.where(A), 1, (1,)),
        (lambda: torch.complex(A.t(), A), None, (1, 3)),
        (lambda: torch.unravel_index(torch.tensor([3, 5]), (2, 3)), 0, (2,)),
    ],
)
def test_results_are_stored_as_torchs(call, place, strides):
    result = call()
    assert (result if place is None else result[place]).stride() == strides


def test_node_names_in_place():
    def fresh():
        return torch.ones(2, 3, requires_grad=True).clone()

    x = fresh()
    row, column = x[0], x[:, 0]
    row.mul_(2)
    names = [type(t.grad_fn).__name__ for t in (x, row, column)]
    assert names == ["CopySlices", "AsStridedBackward0", "AsStridedBackward0"]
    methods = [("t_", ()), ("squeeze_", ()), ("squeeze_", (0,)), ("transpose_", (0, 1)), ("unsqueeze_", (0,))]
    names = [type(getattr(fresh(), name)(*args).grad_fn).__name__ for name, args in methods]
    assert names == ["TBackward1", "SqueezeBackward3", "SqueezeBackward4", "TransposeBackward1", "UnsqueezeBackward1"]


@pytest.mark.parametrize(
    "act, second",  # torch's values
    [
        (lambda v: F.relu(v, inplace=True), -0.0800),
        (torch.Tensor.sigmoid_, -0.0175),
        (torch.Tensor.exp_, -0.0291),
        (torch.Tensor.sqrt_, -0.0259),
    ],
)
def test_second_derivative_of_a_write_to_a_view(act, second):
    x = torch.ones(1, 3, requires_grad=True)
    view = act((x + 1).view_as(x))
    (g,) = torch.autograd.grad(torch.sigmoid(view).sum(), x, create_graph=True)
    g.sum().backward()
    assert torch.allclose(x.grad, torch.full((1, 3), second), atol=6e-5)


def test_penalty_through_a_write_to_a_view():
    """The gradient penalty of InstanceNorm and ReLU(inplace=True), beside the same without writes."""
    found = []
    for inplace in (False, True):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.InstanceNorm2d(2), nn.ReLU(inplace), nn.Flatten(), nn.Linear(8, 1))
        x = torch.randn(2, 1, 4, 4, requires_grad=True)
        (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        (g.norm() - 1).pow(2).backward()
        found.append([p.grad for p in net.parameters() if p.grad is not None])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*found, strict=True))


def test_grad_keeps_its_history():
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**3).sum().backward(create_graph=True)
    kept = x.grad
    (x * 2).sum().backward()
    assert x.grad is kept and type(kept.grad_fn).__name__ == "CopyBackwards"
    assert torch.autograd.grad(x.grad.sum(), x)[0].tolist() == [6.0, 6.0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions_by_themselves(n):
    torch.manual_seed(n)
    x, w = torch.randn(2, 4, *[6] * n, requires_grad=True), torch.randn(4, 2, *[3] * n, requires_grad=True)
    out = getattr(F, f"conv{n}d")(x, w, None, 2, 1, 1, 2)
    g = torch.randn(out.shape)
    by_input, by_weight = torch.autograd.grad(out, (x, w), g)
    grad = nn.grad
    assert torch.allclose(getattr(grad, f"conv{n}d_input")(x.shape, w, g, 2, 1, 1, 2), by_input)
    assert torch.allclose(getattr(grad, f"conv{n}d_weight")(x, w.shape, g, stride=2, padding=1, groups=2), by_weight)


def test_mixed_precision_of_logits():
    x = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, torch.ones(3))
    assert loss.dtype is torch.float32 and loss.item() == pytest.approx(0.4865424931049347, rel=1e-7)
    expected = [-0.15834027084035332, -0.1258468895993818, -0.09635016579166537]
    assert torch.autograd.grad(loss, x)[0].tolist() == pytest.approx(expected, rel=1e-14)


def test_indices_after_the_last_offset_belong_to_no_bag():
    bag = nn.EmbeddingBag(5, 3, mode="sum", include_last_offset=True)
    out = bag(torch.tensor([0, 1, 1, 4]), torch.tensor([0, 2]))
    assert torch.allclose(out, bag.weight[:2].sum(0, keepdim=True))


def test_sums_in_the_type_of_out():
    a = torch.tensor([0.5, 0.75])
    assert torch.sum(a, 0, out=torch.empty(0, dtype=torch.int64)) == 0  # torch converts before it adds
    assert torch.cumsum(torch.tensor([1.5, 2.5]), 0, out=torch.empty(0, dtype=torch.int64)).tolist() == [1, 3]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: torch.mm(A, A, out=torch.empty(0, dtype=torch.float64)), RuntimeError),
        (lambda: torch.isin(A, A, out=torch.empty(0)), RuntimeError),
        (lambda: torch.nonzero(A, out=torch.empty(0)), RuntimeError),
        (lambda: torch.isin(A > 0, A > 0), RuntimeError),
        (lambda: torch.cross(A, A.double(), dim=0), RuntimeError),
        (lambda: A.clone().set_(A, 1), TypeError),
        (lambda: A.clone().set_(A.double()), RuntimeError),
        (lambda: torch.kthvalue(A > 0, 1), NotImplementedError),
        (lambda: torch.searchsorted(torch.tensor([True]), torch.tensor([True])), NotImplementedError),
        (lambda: torch.unique_consecutive(torch.ones(2) * 1j), NotImplementedError),
        (lambda: torch.atan2(A * 1j, A * 1j), NotImplementedError),
        (lambda: torch.combinations(A, 2), RuntimeError),
        (lambda: torch.meshgrid(A, A, indexing="ij"), RuntimeError),
        (lambda: torch.meshgrid(A[0], A[0].long(), indexing="ij"), RuntimeError),
        (lambda: torch.index_select(torch.tensor(1.0), 0, torch.tensor([0, 0])), RuntimeError),
        (lambda: torch.trapezoid(A, dx=True), RuntimeError),
        (lambda: torch.complex(A.bfloat16(), A.bfloat16()), RuntimeError),
        (lambda: setattr(torch.ones(2, requires_grad=True) * 2, "requires_grad", True), RuntimeError),
        (lambda: _Dirty.apply(torch.ones(2)), RuntimeError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error


class _Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_an_expanded_tensor_is_filled():
    x = torch.ones(2, 3)
    x[:1].expand(2, 3).fill_(2)
    assert x.sum() == 9
    x[:1].expand(2, 3).zero_()
    assert x.sum() == 3
