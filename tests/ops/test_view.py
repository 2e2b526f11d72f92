"""Views, pieces and joins: against NumPy, with memory shared where torch shares it, and gradients by differences."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.core.warn import Once

X = np.arange(24.0).reshape(2, 3, 4)

# name, call on a tensor of shape (2, 3, 4), the same on an ndarray, whether the result shares memory, torch's node name
VIEWS = [
    ("view", lambda t: t.view(6, 4), lambda a: a.reshape(6, 4), True, "ViewBackward0"),
    ("view -1", lambda t: t.view(-1, 2), lambda a: a.reshape(-1, 2), True, "ViewBackward0"),
    ("reshape", lambda t: t.reshape((4, 6)), lambda a: a.reshape(4, 6), True, "ViewBackward0"),
    ("reshape of a transpose", lambda t: t.transpose(0, 2).reshape(-1), lambda a: a.swapaxes(0, 2).reshape(-1), False, "UnsafeViewBackward0"),
    ("transpose", lambda t: t.transpose(0, -1), lambda a: a.swapaxes(0, 2), True, "TransposeBackward0"),
    ("permute", lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1), True, "PermuteBackward0"),
    ("permute dims=", lambda t: t.permute(dims=(1, 2, 0)), lambda a: a.transpose(1, 2, 0), True, "PermuteBackward0"),
    ("T of mT", lambda t: t.mT, lambda a: a.swapaxes(1, 2), True, "TransposeBackward0"),
    ("movedim", lambda t: t.movedim((0, 1), (2, 0)), lambda a: np.moveaxis(a, (0, 1), (2, 0)), True, "PermuteBackward0"),
    ("unsqueeze", lambda t: t.unsqueeze(-1), lambda a: a[..., None], True, "UnsqueezeBackward0"),
    ("squeeze", lambda t: t[:1].squeeze(), lambda a: a[:1].squeeze(), True, "SqueezeBackward0"),
    ("squeeze dim", lambda t: t[:, :1].squeeze(1), lambda a: a[:, 0], True, "SqueezeBackward1"),
    ("squeeze dims", lambda t: t[:1, :, :1].squeeze((0, 2)), lambda a: a[0, :, 0], True, "SqueezeBackward2"),
    ("expand", lambda t: t[:, :1].expand(5, 2, -1, 4), lambda a: np.broadcast_to(a[:, :1], (5, 2, 1, 4)), True, "ExpandBackward0"),
    ("expand dim", lambda t: t[:, :1].expand(2, 3, 4), lambda a: np.broadcast_to(a[:, :1], (2, 3, 4)), True, "ExpandBackward0"),
    ("flatten", lambda t: t.flatten(1), lambda a: a.reshape(2, 12), True, "ViewBackward0"),
    ("unflatten", lambda t: t.unflatten(2, (2, -1)), lambda a: a.reshape(2, 3, 2, 2), True, "ViewBackward0"),
    ("diagonal", lambda t: t.diagonal(1, 1, 2), lambda a: a.diagonal(1, 1, 2), True, "DiagonalBackward0"),
    ("unfold", lambda t: t.unfold(2, 2, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 2), True, "UnfoldBackward0"),
    ("as_strided", lambda t: t.as_strided((2, 2), (5, 1), 3), lambda a: np.array([[3.0, 4], [8, 9]]), True, "AsStridedBackward0"),
    ("select", lambda t: t.select(1, -1), lambda a: a[:, -1], True, "SelectBackward0"),
    ("narrow", lambda t: t.narrow(2, 1, 2), lambda a: a[..., 1:3], True, "SliceBackward0"),
    ("unbind", lambda t: t.unbind(1)[2], lambda a: a[:, 2], True, "UnbindBackward0"),
    ("split", lambda t: t.split(3, 2)[1], lambda a: a[..., 3:], True, "SplitBackward0"),
    ("split sizes", lambda t: t.split([1, 2], 1)[1], lambda a: a[:, 1:], True, "SplitWithSizesBackward0"),
    ("chunk", lambda t: t.chunk(3, 2)[1], lambda a: a[..., 2:4], True, "SplitBackward0"),
    ("tensor_split", lambda t: t.tensor_split(3, 2)[0], lambda a: a[..., :2], True, "SliceBackward0"),
    ("cat", lambda t: torch.cat([t, t], -1), lambda a: np.concatenate([a, a], -1), False, "CatBackward0"),
    ("stack", lambda t: torch.stack([t, t], 1), lambda a: np.stack([a, a], 1), False, "StackBackward0"),
    ("repeat", lambda t: t.repeat(2, 1, 1, 3), lambda a: np.tile(a, (2, 1, 1, 3)), False, "RepeatBackward0"),
    ("flip", lambda t: t.flip(0, 2), lambda a: np.flip(a, (0, 2)), False, "FlipBackward0"),
    ("roll", lambda t: t.roll((1, -1), (0, 2)), lambda a: np.roll(a, (1, -1), (0, 2)), False, "RollBackward0"),
    ("rot90", lambda t: t.rot90(1, (1, 2)), lambda a: np.rot90(a, 1, (1, 2)), False, "Rot90Backward0"),
    ("tril", lambda t: t.tril(1), lambda a: np.tril(a, 1), False, "TrilBackward0"),
    ("diag_embed", lambda t: t.diag_embed(), lambda a: a[..., None] * np.eye(4), False, "DiagEmbedBackward0"),
    ("clone", lambda t: t.clone(), lambda a: a, False, "CloneBackward0"),
]  # fmt: skip
_IDS = [row[0] for row in VIEWS]


@pytest.mark.parametrize(("name", "call", "oracle", "shares", "node"), VIEWS, ids=_IDS)
def test_values_memory_and_history(name, call, oracle, shares, node):
    x = torch.tensor(X, requires_grad=True)
    y = call(x)
    np.testing.assert_array_equal(y.detach().numpy(), oracle(X))
    assert y.grad_fn.name() == node
    assert np.shares_memory(y.detach().numpy(), x.detach().numpy()) == shares
    assert y._is_view() == shares


@pytest.mark.parametrize(("name", "call", "oracle", "shares", "node"), VIEWS, ids=_IDS)
def test_gradients(name, call, oracle, shares, node):
    x = torch.tensor(X / 7, requires_grad=True)
    assert gradcheck(call, (x,)) and gradgradcheck(call, (x,))


@pytest.mark.parametrize(
    "row",
    [r for r in VIEWS if r[3] and "expand" not in r[0]],
    ids=[r[0] for r in VIEWS if r[3] and "expand" not in r[0]],
)
def test_a_write_through_a_view_reaches_the_base_and_its_gradient(row):
    _, call, oracle, _, _ = row
    if "unbind" in row[0] or "split" in row[0] or "chunk" in row[0] or "unfold" in row[0]:
        pytest.skip("outputs of multi-view functions and overlapping windows are not written in place")
    w = torch.tensor(X, requires_grad=True)
    base = w * 1
    call(base).mul_(3.0)
    expected, touched = X.copy(), np.zeros_like(X)
    part = (
        np.lib.stride_tricks.as_strided(touched.reshape(-1)[3:], (2, 2), (40, 8))
        if row[0] == "as_strided"
        else oracle(touched)
    )
    if not part.flags.writeable:
        part.flags.writeable = True
    part[...] = 1
    np.testing.assert_array_equal(base.detach().numpy(), np.where(touched == 1, X * 3, expected))
    base.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.where(touched == 1, 3.0, 1.0))


ERRORS = [
    (lambda t: t.view(5, 5), RuntimeError, r"shape '\[5, 5\]' is invalid for input of size 24"),
    (lambda t: t.view(-1, 5), RuntimeError, "is invalid for input of size 24"),
    (lambda t: t.view(-1, -1), RuntimeError, "only one dimension can be inferred"),
    (lambda t: t.transpose(0, 1).view(-1), RuntimeError, r"Use .reshape\(...\) instead"),
    (lambda t: t.transpose(0, 3), IndexError, r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)"),
    (lambda t: t.permute(0, 1), RuntimeError, "number of dimensions"),
    (lambda t: t.permute(0, 1, 2, 3), RuntimeError, r"input.dim\(\) = 3 is not equal to len\(dims\) = 4"),
    (lambda t: torch.broadcast_shapes((2, 1), (3,), (2, 4)), RuntimeError, r"dimension of length 4 at -1! Mismatching argument at "
     r"index 2 had \(2, 4\); but expected shape should be broadcastable to \[2, 3\]"),
    (lambda t: t.permute("a"), TypeError, r"permute\(\): argument 'dims' \(position 1\) must be tuple of ints, not str"),
    (lambda t: t.expand(2.0), TypeError, r"expand\(\): argument 'size' \(position 1\) must be tuple of ints, not float"),
    (lambda t: t.H, RuntimeError, "Got 3-D tensor. For batches of matrices, consider using tensor.mH"),
    (lambda t: t[0, 0].H, RuntimeError, "tensor.H is only supported on matrices .*Got 1-D"),
    (lambda t: t[0, 0].mH, RuntimeError, "tensor.mH is only supported on matrices or batches of matrices. Got 1-D"),
    (lambda t: t.permute(0, 0, 1), RuntimeError, "duplicate dims are not allowed"),
    (lambda t: t.expand(2, 3, 5), RuntimeError, r"The expanded size of the tensor \(5\) must match the existing size \(4\)"),
    (lambda t: t.expand(3), RuntimeError, "must be greater or equal to the number of dimensions"),
    (lambda t: t.select(0, 2), IndexError, "out of range"),
    (lambda t: t.narrow(0, 1, 2), RuntimeError, "exceeds dimension size"),
    (lambda t: t.split([1, 1], 1), RuntimeError, "sum exactly to 3"),
    (lambda t: t.as_strided((9, 9), (9, 1)), RuntimeError, "out of bounds for storage"),
    (lambda t: torch.cat([t, t[:, :1, :2]], 1), RuntimeError, "Sizes of tensors must match except in dimension 1"),
    (lambda t: torch.stack([t, t[:1]]), RuntimeError, "stack expects each tensor to be equal size"),
    (lambda t: torch.cat([]), (ValueError, RuntimeError), "non-empty list of Tensors"),
    (lambda t: torch.cat(t), TypeError, "must be tuple of Tensors, not Tensor"),
    (lambda t: t.flatten(2, 1), RuntimeError, "start_dim cannot come after end_dim"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(torch.tensor(X))


def test_in_place_views_change_the_tensor_itself():
    t = torch.arange(6).view(2, 3)
    assert t.transpose_(0, 1) is t and t.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert t.unsqueeze_(0).shape == (1, 3, 2) and t.squeeze_().t_().shape == (2, 3)


def test_empty_tensors_drop_out_of_cat_and_mixed_types_promote():
    assert torch.cat([torch.empty(0), torch.ones(2, 2)]).shape == (2, 2)
    assert torch.cat([torch.ones(1, dtype=torch.int64), torch.ones(1)]).dtype is torch.float32


@pytest.mark.parametrize(("name", "rank", "words"), [
    ("T", 3, "other than 2"), ("T", 1, "other than 2"), ("T", 0, "Tensor.T is deprecated on 0-D"),
    ("mT", 0, "Tensor.mT is deprecated on 0-D"), ("H", 0, "Tensor.H is deprecated on 0-D"),
])  # fmt: skip
def test_transposes_of_other_ranks_warn(monkeypatch, name, rank, words):
    monkeypatch.setattr(Once, "always", True)
    t = torch.ones(tuple(range(2, 2 + rank)))
    with pytest.warns(UserWarning, match=words):
        assert getattr(t, name).shape == t.shape[::-1]


def test_a_warning_given_once(monkeypatch):
    monkeypatch.setattr(Once, "given", set())
    with pytest.warns(UserWarning, match="other than 2") as seen:
        torch.ones(3).T, torch.ones(2).T
        torch.set_warn_always(True)
        torch.ones(3).T  # noqa: B018
        torch.set_warn_always(False)
    assert [str(w.filename) for w in seen] == [__file__] * 2


def test_numbers_do_not_widen_blocks():
    a = torch.ones(2, 2).half()
    assert torch.block_diag(a, torch.tensor(0.1)).dtype is torch.block_diag(torch.tensor(0.1), a).dtype is torch.float16


def test_of_several_sizes_that_do_not_fit_the_last_is_named():
    with pytest.raises(
        RuntimeError, match=r"tensor \(7\) must match the existing size \(4\) at non-singleton dimension 2"
    ):
        torch.ones(2, 3, 4).expand(5, 6, 7)
    with pytest.raises(RuntimeError, match=r"^The expanded size of the tensor \(-1\) isn't allowed in a leading"):
        torch.ones(3).expand(-1, 3)


def test_shared_elements_divide_the_gradient_of_as_strided():
    """An expanded input has each element several times; what arrives at its memory is divided among them, as in torch."""
    x = torch.tensor([1.0]).expand(3).detach().requires_grad_()
    (x.as_strided((2,), (0,)) * torch.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    x = torch.ones(2, 1).expand(2, 3).detach().requires_grad_()
    (g,) = torch.autograd.grad((x.as_strided((2,), (1,)) ** 2).sum(), x, create_graph=True)
    assert g.flatten().tolist() == pytest.approx([2 / 3] * 6) and g.grad_fn.name() == "AsStridedBackward0"
