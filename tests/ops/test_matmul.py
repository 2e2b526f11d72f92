"""Products against NumPy's in float64, and their gradients against central differences."""

import itertools
import re

import numpy as np
import pytest

import rushlight as rl
from rushlight import ops

from .central_difference import check_gradients
from .second_gradient import check_second_gradients

rng = np.random.default_rng(0)

MATMUL = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((1, 1), (1, 1)),
    ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((2, 3), (3, 0)), ((2, 2, 3), (3, 0)), ((2, 0, 3), (3, 4)),
    ((0, 2, 3), (0, 3, 4)), ((2, 2, 0), (2, 0, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), MATMUL)
def test_matmul(a, b):
    x, y = rng.normal(size=a), rng.normal(size=b)
    for out in (rl.matmul(rl.tensor(x), rl.tensor(y)), rl.tensor(x) @ rl.tensor(y), rl.tensor(x).matmul(rl.tensor(y))):
        np.testing.assert_allclose(out.numpy(), x @ y, atol=1e-12)
    check_gradients(rl.matmul, x, y)
    if x.size and y.size:
        check_second_gradients(rl.matmul, x, y)


NAMED = [
    ("mm", [(2, 3), (3, 4)], np.matmul),
    ("mv", [(2, 3), (3,)], np.matmul),
    ("dot", [(3,), (3,)], np.dot),
    ("vdot", [(3,), (3,)], np.vdot),
    ("inner", [(2, 5, 3), (4, 3)], np.inner),
    ("outer", [(2,), (3,)], np.outer),
    ("bmm", [(5, 2, 3), (5, 3, 4)], np.matmul),
    ("kron", [(2, 3), (4, 2)], np.kron),
    ("trace", [(3, 4)], np.trace),
]


@pytest.mark.parametrize(("name", "shapes", "oracle"), NAMED)
def test_named_products(name, shapes, oracle):
    arrays = [rng.normal(size=s) for s in shapes]
    f = getattr(rl, name)
    np.testing.assert_allclose(f(*map(rl.tensor, arrays)).numpy(), oracle(*arrays), atol=1e-12)
    check_gradients(f, *arrays)
    check_second_gradients(f, *arrays)


ADDED = [
    ("addmm", [(4,), (2, 3), (3, 4)], lambda x, y: x @ y),
    ("addmm", [(2, 4), (2, 0), (0, 4)], lambda x, y: x @ y),
    ("addmv", [(2,), (2, 3), (3,)], lambda x, y: x @ y),
    ("addr", [(2, 3), (2,), (3,)], np.outer),
    ("baddbmm", [(4,), (5, 2, 3), (5, 3, 4)], lambda x, y: x @ y),
    ("addbmm", [(2, 4), (5, 2, 3), (5, 3, 4)], lambda x, y: (x @ y).sum(0)),
]


@pytest.mark.parametrize(("name", "shapes", "product"), ADDED)
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0.5, -2.0), (0, 3)])
def test_added_products(name, shapes, product, beta, alpha):
    arrays = [rng.normal(size=s) for s in shapes]
    f = getattr(rl, name)

    def g(*tensors):
        return f(*tensors, beta=beta, alpha=alpha)

    expected = beta * arrays[0] + alpha * product(*arrays[1:])
    np.testing.assert_allclose(g(*map(rl.tensor, arrays)).numpy(), expected, atol=1e-12)
    check_gradients(g, *arrays)


def test_a_zero_beta_leaves_nans_out():
    out = rl.addmm(rl.full((2, 2), float("nan")), rl.ones(2, 3), rl.ones(3, 2), beta=0)
    assert out.tolist() == [[3, 3], [3, 3]]


def test_written_in_place():
    x = rl.ones(2, 2)
    assert x.addmm_(rl.ones(2, 3), rl.ones(3, 2), alpha=2) is x
    assert x.tolist() == [[7, 7], [7, 7]]
    with pytest.raises(RuntimeError):
        rl.ones(2).addmm_(rl.ones(2, 3), rl.ones(3, 2))


LINEAR = [
    ((2, 3), (4, 3), (4,)), ((2, 3), (4, 3), None), ((3,), (4, 3), (4,)), ((3,), (4, 3), None), ((2, 5, 3), (4, 3), (4,)),
    ((2, 5, 3), (4, 3), None), ((0, 3), (4, 3), (4,)), ((2, 0), (4, 0), (4,)), ((2, 3), (3,), None), ((2, 3), (4, 3), (1,)),
    ((2, 3), (4, 3), (2, 4)), ((0, 5, 3), (4, 3), (4,)),
]  # fmt: skip


@pytest.mark.parametrize(("x", "w", "b"), LINEAR)
def test_linear(x, w, b):
    arrays = [rng.normal(size=s) for s in (x, w, b) if s is not None]
    expected = arrays[0] @ arrays[1].T + (arrays[2] if b else 0)
    np.testing.assert_allclose(ops.linear(*map(rl.tensor, arrays)).numpy(), expected, atol=1e-12)
    check_gradients(ops.linear, *arrays)
    if arrays[0].size:
        check_second_gradients(ops.linear, *arrays)


def test_the_gradient_of_a_weight_is_one_fresh_row_major_array():
    x, w, b = rl.randn(8, 3), rl.randn(4, 3, requires_grad=True), rl.randn(4, requires_grad=True)
    ops.linear(x, w, b).sum().backward()
    for leaf in (w, b):
        a = leaf.grad._array
        assert a.flags.c_contiguous and a.base is None


def test_nodes_have_torchs_names():
    w, b = rl.randn(4, 3, requires_grad=True), rl.randn(4)
    assert ops.linear(rl.randn(2, 3), w, b).grad_fn.name() == "AddmmBackward0"
    assert ops.linear(rl.randn(2, 3), w).grad_fn.name() == "MmBackward0"
    assert ops.linear(rl.randn(2, 2, 3), w, b).grad_fn.name() == "ViewBackward0"
    assert (rl.randn(2, 4) @ w).grad_fn.name() == "MmBackward0"
    assert (rl.randn(5, 2, 4) @ w).grad_fn.name() == "UnsafeViewBackward0"


@pytest.mark.parametrize("kind", [rl.int8, rl.uint8, rl.int32, rl.int64])
def test_integers_are_exact(kind):
    x, y = rng.integers(0, 100, (3, 40)), rng.integers(0, 100, (40, 2))
    out = rl.tensor(x).to(kind) @ rl.tensor(y).to(kind)
    assert out.dtype is kind
    assert (out.numpy() == (x @ y).astype(out.numpy().dtype)).all()


@pytest.mark.parametrize("kind", [rl.float16, rl.bfloat16])
def test_half_precision_sums_in_float32(kind):
    out = rl.full((1, 4096), 1.0, dtype=kind) @ rl.full((4096, 1), 1.0, dtype=kind)
    assert out.dtype is kind and out.item() == 4096


def test_complex_gradients_are_conjugated():
    x, y = (rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)) for _ in range(2))
    a, b = rl.tensor(x, requires_grad=True), rl.tensor(y, requires_grad=True)
    (a @ b).abs().square().sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), 2 * (x @ y) @ y.conj().T)
    np.testing.assert_allclose(b.grad.numpy(), 2 * x.conj().T @ (x @ y))


ERRORS = [
    (lambda: rl.ones(2, 3) @ rl.ones(4, 5), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"),
    (lambda: rl.ones(2, 3) @ rl.ones(4), r"size mismatch, got input \(2\), mat \(2x3\), vec \(4\)"),
    (lambda: rl.ones(2) @ rl.ones(3), "inconsistent tensor size"),
    (lambda: rl.ones(2, 2, 3) @ rl.ones(2, 4, 5), "Expected size for first two dimensions"),
    (lambda: rl.ones(2, 2, 3) @ rl.ones(3, 3, 5), "must match the size of tensor b"),
    (
        lambda: rl.ones(2, 3) @ rl.ones(3, 4).double(),
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (lambda: rl.mm(rl.ones(2, 3), rl.ones(3)), "mat2 must be a matrix"),
    (lambda: rl.mv(rl.ones(3), rl.ones(3)), r"vector \+ matrix @ vector expected, got 1, 1, 1"),
    (lambda: rl.dot(rl.ones(2, 3), rl.ones(3)), "1D tensors expected, but got 2D and 1D tensors"),
    (lambda: rl.bmm(rl.ones(2, 3), rl.ones(3, 4)), "batch1 must be a 3D tensor"),
    (lambda: ops.linear(rl.ones(2, 4), rl.ones(4, 3)), r"cannot be multiplied \(2x4 and 3x4\)"),
    (lambda: ops.linear(rl.ones(2, 3), rl.ones(4, 3), rl.ones(5)), r"expanded size of the tensor \(4\) must match"),
    (
        lambda: ops.linear(rl.ones(2, 3).double(), rl.ones(4, 3), rl.ones(4)),
        "must have the same dtype, but got Double and",
    ),
    (lambda: rl.einsum("ij,jk->iz", rl.ones(2, 3), rl.ones(3, 4)), "output subscript z does not appear"),
    (lambda: rl.einsum("ij,kj->ik", rl.ones(2, 3), rl.ones(3, 4)), "does not broadcast with previously seen size 3"),
    (lambda: rl.einsum("ij", rl.ones(2, 3), rl.ones(3)), "more operands were provided"),
    (lambda: rl.tensordot(rl.ones(2, 3), rl.ones(3, 4), ([1], [1])), "contracted dimensions need to match"),
    (
        lambda: rl.tensordot(rl.ones(2, 3), rl.ones(4, 5), 1),
        "first has size 3 in dim -1 and second has size 4 in dim 0",
    ),
    (lambda: rl.tensordot(rl.ones(2), rl.ones(2, dtype=rl.float64), 1), "both inputs should have same dtype"),
    (lambda: rl.cdist(rl.ones(2, 3), rl.ones(2, 4)), "must have the same number of columns. X1: 3 X2: 4"),
    (lambda: rl.matrix_power(rl.ones(2, 3), 2), "batches of square matrices"),
]


@pytest.mark.parametrize(("call", "words"), ERRORS)
def test_errors(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_foreign_operands():
    for call in (lambda: rl.ones(2, 3) @ 2, lambda: 2 @ rl.ones(2, 3), lambda: rl.matmul(rl.ones(2), np.ones(2))):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(NotImplementedError, match="Bool"):
        rl.ones(2, 2, dtype=rl.bool) @ rl.ones(2, 2, dtype=rl.bool)


EINSUM = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ii->i", (3, 3)),
    ("ii", (3, 3)), ("...ij,...jk", (2, 2, 3), (3, 4)), ("...ij,...jk->...ik", (5, 2, 2, 3), (2, 3, 4)),
    ("ij,jk,kl", (2, 3), (3, 4), (4, 2)), ("i...->...", (2, 3)), ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bi,oij,bj->bo", (2, 3), (4, 3, 5), (2, 5)), ("i,j->ij", (2,), (3,)), ("iij,j", (3, 3, 2), (2,)),
    ("abc,abd->cd", (2, 3, 4), (2, 3, 5)), ("ba", (2, 3)), ("b n , b n -> b", (2, 3), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EINSUM])
def test_einsum(equation, shapes):
    arrays = [rng.normal(size=s) for s in shapes]
    np.testing.assert_allclose(rl.einsum(equation, *map(rl.tensor, arrays)).numpy(), np.einsum(equation, *arrays))
    check_gradients(lambda *x: rl.einsum(equation, *x), *arrays)


@pytest.mark.parametrize(("a", "b", "dims"), [
    ((2, 3), (3, 4), 1), ((2, 3), (3, 4), 0), ((2, 3, 4), (3, 4, 5), 2), ((2, 3, 4), (4, 3, 5), ([1, 2], [1, 0])),
])  # fmt: skip
def test_tensordot(a, b, dims):
    x, y = rng.normal(size=a), rng.normal(size=b)
    np.testing.assert_allclose(rl.tensordot(rl.tensor(x), rl.tensor(y), dims).numpy(), np.tensordot(x, y, dims))


@pytest.mark.parametrize("p", [0, 1, 2, 3, float("inf")])
def test_cdist(p):
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    expected = [[np.linalg.norm(a - b, p) for b in y] for a in x]
    np.testing.assert_allclose(rl.cdist(rl.tensor(x), rl.tensor(y), float(p)).numpy(), expected)
    check_gradients(lambda a, b: rl.cdist(a, b, float(p)), x, y)


def test_cdist_of_many_rows_uses_a_product():
    x, y = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    expected = np.sqrt(((x[:, None] - y) ** 2).sum(-1))
    np.testing.assert_allclose(rl.cdist(rl.tensor(x), rl.tensor(y)).numpy(), expected, rtol=1e-6)


def test_cross_matrix_power_and_chains():
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(rl.cross(rl.tensor(x), rl.tensor(y), dim=1).numpy(), np.cross(x, y))
    check_gradients(lambda a, b: rl.cross(a, b, dim=1), x, y)
    m = rng.normal(size=(3, 3))
    for n in range(6):
        np.testing.assert_allclose(rl.matrix_power(rl.tensor(m), n).numpy(), np.linalg.matrix_power(m, n), atol=1e-12)
    sizes = (10, 3, 20, 2, 7)
    chain = [rng.normal(size=s) for s in itertools.pairwise(sizes)]
    np.testing.assert_allclose(ops.multi_dot([rl.tensor(a) for a in chain]).numpy(), np.linalg.multi_dot(chain))


def test_bilinear():
    x, y, w, b = (rng.normal(size=s) for s in ((2, 3), (2, 4), (5, 3, 4), (5,)))
    expected = np.einsum("ni,kij,nj->nk", x, w, y) + b
    np.testing.assert_allclose(ops.bilinear(*map(rl.tensor, (x, y, w, b))).numpy(), expected)
    check_gradients(ops.bilinear, x, y, w, b)


def test_added_products_are_those_of_mm_and_bmm(monkeypatch):
    """Large ones on all cores."""
    x, y = rl.rand(40, 30), rl.rand(30, 20)
    calls = []
    for operator in (rl.mm, rl.bmm):
        kernel = operator.record.kernel
        monkeypatch.setattr(operator.record, "kernel", lambda *given, k=kernel: calls.append(len(given)) or k(*given))
    plain = x.numpy() @ y.numpy()
    np.testing.assert_allclose(rl.addmm(rl.ones(20), x, y, alpha=2).numpy(), 1 + 2 * plain, 1e-5)
    batches = x.expand(3, 40, 30), y.expand(3, 30, 20)
    np.testing.assert_allclose(rl.baddbmm(rl.ones(1), *batches).numpy(), np.stack([1 + plain] * 3), 1e-5)
    np.testing.assert_allclose(rl.addbmm(rl.ones(1), *batches).numpy(), 1 + 3 * plain, 1e-5)
    assert calls == [2, 2, 2]


@pytest.mark.parametrize(
    ("name", "shapes", "error", "words"),
    [
        ("baddbmm", ((1,), (2, 3), (2, 3)), IndexError, "range of [-2, 1], but got 2"),
        ("baddbmm", ((1,), (3,), (2, 3, 4)), IndexError, "range of [-1, 0], but got 1"),
        ("addbmm", ((1,), (), ()), IndexError, "Dimension specified as 1 but tensor has no dimensions"),
        ("baddbmm", ((2, 3, 5), (2, 3), (2, 3, 4)), RuntimeError, "The expanded size of the tensor (4)"),
        ("addbmm", ((2, 2), (2, 3, 4), (2, 3, 4, 5)), RuntimeError, "Target sizes: [3, 4].  Tensor sizes: [2, 2]"),
        ("baddbmm", ((1,), (2, 3), (2, 3, 4)), RuntimeError, "batch1 must be a 3D tensor"),
    ],
)
def test_what_is_added_to_batches_is_expanded_before_they_are_checked(name, shapes, error, words):
    with pytest.raises(error) as raised:
        getattr(rl, name)(*(rl.ones(s) for s in shapes))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        (
            (2, 8, 16),
            (16, 8, 2),
            "size of tensor a (2) must match the size of tensor b (16) at non-singleton dimension 0",
        ),
        ((4, 2, 8, 16), (3, 16, 4), "tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"),
        ((2, 8, 16), (3, 16, 4), "tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
        ((8, 16), (3, 8, 4), "Expected size for first two dimensions of batch2 tensor to be: [3, 16] but got: [3, 8]."),
        ((16,), (2, 8, 3), "Expected size for first two dimensions of batch2 tensor to be: [2, 16] but got: [2, 8]."),
        ((2, 8, 16), (8, 4), "mat1 and mat2 shapes cannot be multiplied (16x16 and 8x4)"),
    ],
)
def test_batches_that_do_not_fit_are_named_as_torch_names_them(x, y, says):
    """As in `q @ k.T` of three dimensions, which reverses all of them."""
    with pytest.raises(RuntimeError, match=re.escape(says)):
        rl.ones(x) @ rl.ones(y)


@pytest.mark.parametrize("dtype", [rl.float32, rl.bfloat16, rl.float16], ids=str)
def test_linear_of_an_input_with_other_strides_adds_its_bias_to_the_rounded_product(dtype):
    generator = rl.Generator().manual_seed(0)
    x, w, b = (rl.randn(*shape, generator=generator).to(dtype) for shape in ((3, 6, 5), (7, 5), (7,)))
    w.requires_grad_()
    for view in (x.transpose(0, 1), x[:, ::2], x[:, :1].expand(3, 6, 5)):
        y = rl.nn.functional.linear(view, w, b)
        assert y.grad_fn.name() == "AddBackward0" and rl.equal(y, rl.matmul(view, w.t()) + b)
    for whole in (x, x.transpose(0, 1)[:, :1], x[None]):
        y = rl.nn.functional.linear(whole, w, b)
        assert y.grad_fn.name() == "ViewBackward0"
        rl.testing.assert_close(y.double(), whole.double() @ w.double().t() + b.double(), rtol=0.01, atol=0.01)


def test_linear_of_other_strides_in_a_region_adds_the_bias_in_16_bits():
    x, w, b = rl.randn(4, 3, 5).transpose(0, 1), rl.randn(2, 5), rl.randn(2)
    with rl.autocast("cpu", rl.bfloat16):
        y = rl.nn.functional.linear(x, w, b)
    assert rl.equal(y, rl.matmul(x.bfloat16(), w.bfloat16().t()) + b.bfloat16())
