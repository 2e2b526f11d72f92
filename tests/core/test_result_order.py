"""The strides of results of permuted, repeated and broadcast operands, as recorded from torch."""

import pytest

import rushlight as rl

F = rl.nn.functional


def stored(shape, strides, dtype=rl.float32):
    """Ones in memory with these strides."""
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return rl.ones(size, dtype=dtype).as_strided(shape, strides)


ROWS = [
    # repeated elements
    (lambda x: x.clamp(-1, 1), [((3, 2, 2), (1, 0, 3))], (1, 3, 6)),
    (rl.sigmoid, [((2, 2, 1, 3, 3), (0, 3, 1, 0, 1))], (18, 9, 1, 1, 3)),
    (rl.reciprocal, [((4, 2, 4), (1, 0, 4))], (1, 4, 8)),
    (lambda x: x**2, [((4, 3, 1, 3), (3, 0, 12, 1))], (3, 12, 36, 1)),
    (F.hardswish, [((1, 1, 2, 3, 2), (2, 2, 1, 0, 2))], (6, 6, 1, 2, 6)),
    (F.gelu, [((2, 3, 1, 1), (1, 0, 2, 2))], (1, 2, 6, 2)),
    (F.softplus, [((1, 2, 1, 2, 1), (2, 1, 2, 0, 2))], (4, 1, 4, 2, 4)),
    # broadcast operands
    (rl.lt, [((1, 4, 1), (8, 1, 8)), ((2, 1, 3), (1, 6, 2))], (1, 2, 8)),
    (rl.mul, [((1, 1, 3, 1), (3, 3, 1, 1)), ((3, 1, 1), (4, 2, 28))], (9, 1, 3, 9)),
    (rl.logaddexp, [((4, 2, 4), (8, 4, 1)), ((1, 1, 2, 4), (2, 2, 8, 2))], (1, 4, 16, 1)),
    (rl.add, [((3, 1, 1, 3), (3, 1, 1, 1)), ((3, 2, 2, 3), (1, 0, 3, 0))], (3, 9, 18, 1)),
    # dimensions of one element
    (rl.copysign, [((3, 1, 3, 3), (18, 3, 1, 6)), ((3,), (1,))], (9, 3, 1, 3)),
    (rl.logical_xor, [((4, 1, 4, 3), (1, 4, 12, 4)), ((4, 1, 4, 3), (12, 12, 3, 1))], (1, 4, 12, 4)),
    (rl.ge, [((4, 1), (1, 1)), ((4, 1), (2, 8))], (1, 4)),
    (lambda x: 2.0 - x, [((4, 2, 4, 1), (8, 1, 2, 8))], (8, 1, 2, 8)),
    (rl.clone, [((1, 3, 3, 4), (1, 1, 24, 6))], (1, 1, 12, 3)),
    (rl.rand_like, [((3, 1, 4, 3), (1, 12, 3, 12))], (1, 12, 3, 12)),
    (lambda x: F.batch_norm(x, None, None, training=True), [((2, 4, 2, 1), (8, 1, 4, 4))], (8, 1, 4, 4)),
    (lambda x: F.max_pool2d(x, 1), [((3, 4, 4, 1), (16, 1, 4, 4))], (16, 1, 4, 4)),
    # operators made of others
    (lambda x: rl.complex(x, x).angle(), [((3, 2), (1, 3))], (2, 1)),
    (lambda x: rl.complex(x, x).conj_physical(), [((3, 2, 4), (1, 0, 3))], (1, 3, 6)),
    (lambda x, y: rl.einsum("bik,bkj->bji", x, y), [((2, 4, 1), (4, 8, 2)), ((2, 1, 1), (0, 1, 1))], (1, 8, 2)),
    (lambda x: rl.addr(x, rl.ones(3), rl.ones(4)), [((3, 4), (1, 3))], (1, 3)),
    (lambda x: rl.ones(3, 4)[x], [((2, 3), (1, 2), rl.int64)], (4, 8, 1)),
    (lambda x: rl.ones(3, 4)[:, x], [((2, 3), (1, 2), rl.int64)], (6, 1, 2)),
    (
        lambda x, y: F.soft_margin_loss(x, y, reduction="none"),
        [((3, 2), (0, 1)), ((3, 2), (1, 6))],
        (2, 1),
    ),
    (rl.ldexp, [((4, 4, 1, 1), (4, 1, 4, 4)), ((4, 4, 3, 1), (12, 1, 4, 4))], (12, 3, 1, 1)),
    (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
        [((3, 2, 1), (1, 3, 3)), ((3, 2, 1), (1, 0, 1))],
        (2, 1, 1),
    ),
]


@pytest.mark.parametrize("f, operands, strides", ROWS)
def test_strides_of_results_are_torchs(f, operands, strides):
    assert f(*[stored(*o) for o in operands]).stride() == strides


@pytest.mark.parametrize("f, operands, strides", ROWS)
def test_strides_are_the_same_while_calls_are_observed(f, operands, strides):
    with rl.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert f(*[stored(*o) for o in operands]).stride() == strides


def test_the_gradient_of_a_base_is_in_the_order_of_the_exponent():
    x, y = stored((2, 3), (1, 6)).requires_grad_(), stored((2, 3), (1, 2))
    (g,) = rl.autograd.grad(rl.pow(x, y).sum(), x)
    assert g.stride() == (1, 2)


def test_dropout_drops_where_torch_does():
    total = stored((3, 1, 1, 3), (3, 1, 1, 1)) + stored((3, 2, 2, 3), (1, 0, 3, 0))
    rl.manual_seed(1)
    kept = F.dropout(rl.ones_like(total), 0.5).flatten()[:12]
    assert kept.tolist() == [2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.0]
