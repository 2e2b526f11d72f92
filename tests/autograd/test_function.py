"""autograd.Function, written as users write it."""

import pytest

import rushlight as rl
from rushlight.autograd import Function
from rushlight.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


def leaf(*values):
    return rl.tensor(values, requires_grad=True)


def test_saved_inputs_and_higher_derivatives():
    x = leaf(2.0)
    y = Cube.apply(x)
    assert y.grad_fn.name() == "CubeBackward"
    (g,) = rl.autograd.grad(y, x, create_graph=True)
    (g2,) = rl.autograd.grad(g, x)
    assert (g.item(), g2.item()) == (12.0, 12.0)
    y = Cube.apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_saved_input_that_changed_raises():
    x = leaf(2.0)
    h = x * 1
    y = Cube.apply(h)
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_saved_outputs():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = rl.tensor(0.5, dtype=rl.float64, requires_grad=True)
    assert rl.autograd.gradcheck(Exp.apply, (x,)) and rl.autograd.gradgradcheck(Exp.apply, (x,))


def test_needs_input_grad_and_none_for_other_arguments():
    seen = []

    class Scale(Function):
        @staticmethod
        def forward(ctx, x, y, factor):
            ctx.factor = factor
            return x * factor + y

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g * ctx.factor, None, None

    x = leaf(2.0)
    Scale.apply(x, rl.ones(1), 3.0).backward()
    assert x.grad.item() == 3.0 and seen == [(True, False, False)]


def test_wrong_number_of_gradients():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match=r"returned an incorrect number of gradients \(expected 2, got 1\)"):
        Wrong.apply(leaf(1.0), leaf(2.0)).backward()


def test_wrong_shape_of_a_gradient():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return rl.ones(3)

    with pytest.raises(RuntimeError, match="returned an invalid gradient"):
        Wrong.apply(leaf(1.0, 2.0)).sum().backward()


def test_several_outputs_and_materialized_gradients():
    seen = []

    class Two(Function):
        materialize = True

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(Two.materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append(None if b is None else b.tolist())
            return a * 2 if b is None else a * 2 + b * 3

    x = leaf(1.0, 2.0)
    a, b = Two.apply(x)
    a.sum().backward()
    Two.materialize = False
    a, b = Two.apply(x)
    a.sum().backward()
    a, b = Two.apply(x)
    (a + b).sum().backward()
    assert seen == [[0.0, 0.0], None, [1.0, 1.0]]
    assert x.grad.tolist() == [9.0, 9.0]


def test_mark_non_differentiable():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            values, index = x.sort()
            ctx.mark_non_differentiable(index)
            ctx.index = index
            return values, index

        @staticmethod
        def backward(ctx, g, _):
            return rl.zeros_like(g).scatter(0, ctx.index, g)

    x = leaf(3.0, 1.0)
    values, index = Sort.apply(x)
    assert values.requires_grad and not index.requires_grad
    (values * rl.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]


def test_mark_dirty():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0, 2.0)
    h = x * 1
    y = Double.apply(h)
    assert y is h and h._version == 2 and h.grad_fn.name() == "DoubleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    h = x * 1
    Double.apply(h[:1])
    assert rl.autograd.grad(h.sum(), x)[0].tolist() == [2.0, 1.0]


def test_setup_context():
    class Power(Function):
        @staticmethod
        def forward(x, n=2):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None

    x = leaf(3.0)
    Power.apply(x, 3).backward()
    assert x.grad.item() == 27.0


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    (g,) = rl.autograd.grad(Once.apply(x) ** 2, x, create_graph=True)
    assert g.item() == 4.0 * 27.0
    with pytest.raises(
        RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        g.backward()


def test_forward_runs_without_recording():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((rl.is_grad_enabled(), (x * 2).requires_grad))
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(rl.is_grad_enabled())
            return g

    Look.apply(leaf(1.0)).backward()
    assert seen == [(False, False), False]


def test_returning_the_input_unchanged():
    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf(2.0)
    y = Identity.apply(x)
    assert y is not x
    y.backward()
    assert x.grad.item() == 10.0


def test_only_tensors_can_be_saved():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x

    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        Saves.apply(leaf(1.0))


def test_attributes_of_any_name_reach_backward():
    """Among them the names that a node of the graph uses itself."""
    names = ["shape", "dtype", "saved", "storage", "edges", "seq", "hooks", "trace", "index", "attributes", "where"]
    seen = []

    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, factor):
            for name in names:
                setattr(ctx, name, name.upper())
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            seen.append([getattr(ctx, name) for name in names])
            assert not hasattr(ctx, "nothing") and ctx.needs_input_grad == (True, False)
            return g * ctx.factor, None

    x = rl.ones(2, requires_grad=True)
    y = Scaled.apply(x, 3.0)
    assert y.grad_fn.factor == 3.0 and y.grad_fn.name() == "ScaledBackward"
    y.sum().backward()
    assert seen == [[name.upper() for name in names]]
    assert x.grad.tolist() == [3.0, 3.0]


class OnlyForward(Function):
    """x e^y with a rule for forward mode alone."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.x, ctx.e = x, y.exp()
        return x * ctx.e

    @staticmethod
    def jvp(ctx, dx, dy):
        ahead = dx * ctx.e + dy * ctx.x * ctx.e
        del ctx.x, ctx.e  # called once
        return ahead


def test_a_rule_for_forward_mode():
    forward_ad = rl.autograd.forward_ad
    x, y, dx, dy = (rl.randn(3, dtype=rl.float64) for _ in range(4))
    with forward_ad.dual_level():
        out = OnlyForward.apply(forward_ad.make_dual(x, dx), forward_ad.make_dual(y, dy))
        rl.testing.assert_close(forward_ad.unpack_dual(out).tangent, (dx + x * dy) * y.exp())
    leaves = (x.requires_grad_(), y.requires_grad_())
    forward_only = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False}
    assert rl.autograd.gradcheck(OnlyForward.apply, leaves, **forward_only)
    with pytest.raises(NotImplementedError, match="backward mode AD"):
        OnlyForward.apply(*leaves).sum().backward()


def test_each_mode_takes_its_own_rule():
    """As torch does, even where the two disagree: forward mode asks `jvp`, backward mode `backward`."""

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx, tangent):
            return 3 * ctx.saved_tensors[0] * tangent

    forward_ad, x = rl.autograd.forward_ad, rl.tensor([2.0], requires_grad=True)
    with forward_ad.dual_level():
        out = Both.apply(forward_ad.make_dual(x, rl.ones(1)))
        assert forward_ad.unpack_dual(out).tangent.item() == 6
        out.backward()
    assert x.grad.item() == 4
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(Both.apply(forward_ad.make_dual(x.detach(), rl.ones(1)))).tangent.item() == 6
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        rl.autograd.gradcheck(Both.apply, x.detach().double().requires_grad_(), check_forward_ad=True)
    assert rl.autograd.gradcheck(Both.apply, x.detach().double().requires_grad_())


def test_functions_of_forward_mode_call_jvp():
    class Both(Function):
        @staticmethod
        def forward(x, k):
            return x * x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g * 100, None

        @staticmethod
        def jvp(ctx, tangent, _):
            return 3 * ctx.saved_tensors[0] * tangent

    x, ones = rl.tensor([1.0, 2.0]), rl.ones(2)
    square = lambda x: Both.apply(x, 2.0)  # noqa: E731
    assert rl.func.jvp(square, (x,), (ones,))[1].tolist() == [3.0, 6.0]
    assert rl.func.jvp(lambda x: (square(x * 2) + x).sum(), (x,), (ones,))[1].item() == 12 * 3 + 2
    assert rl.func.linearize(square, x)[1](ones).tolist() == [3.0, 6.0]
    assert rl.func.jacfwd(square)(x).tolist() == [[3.0, 0.0], [0.0, 6.0]]
    assert rl.func.grad(lambda x: square(x).sum())(x).tolist() == [100.0, 100.0]
    functional = rl.autograd.functional
    forward = functional.jacobian(square, x, strategy="forward-mode", vectorize=True)
    assert forward.tolist() == [[3.0, 0.0], [0.0, 6.0]]
    assert functional.jacobian(square, x, vectorize=True).tolist() == [[100.0, 0.0], [0.0, 100.0]]
    twice = functional.hessian(
        lambda x: (square(x) * x).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode"
    )
    assert twice.tolist() == [[103.0, 0.0], [0.0, 106.0]]


def test_gradcheck_finds_a_wrong_rule_for_forward_mode():
    class Wrong(OnlyForward):
        @staticmethod
        def jvp(ctx, dx, dy):
            return dx * ctx.e

    leaves = tuple(rl.randn(3, dtype=rl.float64, requires_grad=True) for _ in range(2))
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 1"):
        rl.autograd.gradcheck(Wrong.apply, leaves, check_forward_ad=True, check_backward_ad=False)
    x = rl.rand(3, dtype=rl.float64, requires_grad=True)
    assert rl.autograd.gradcheck(lambda x: (x.log(), (x * x).sum()), x, check_forward_ad=True)


def test_a_node_shows_where_torch_defines_its_class():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    node = Double.apply(rl.ones(1, requires_grad=True)).grad_fn
    assert repr(node).startswith("<torch.autograd.function.DoubleBackward object at 0x")


@pytest.mark.parametrize("wrong", [1, 1.5, "a", rl.ones(2)])
def test_a_gradient_for_what_is_no_tensor(wrong):
    class Scaled(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g, wrong

    x = rl.ones(2, requires_grad=True)
    message = (
        "function ScaledBackward returned a gradient different than None at position 2, but the corresponding forward"
    )
    with pytest.raises(RuntimeError, match=message):
        Scaled.apply(x, 3).sum().backward()


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("heaviside", lambda x: rl.heaviside(x, rl.zeros(3))),
        ("histogram", lambda x: rl.histogram(x, 3).bin_edges),
        ("histogram", lambda x: rl.histogram(rl.ones(3), 3, weight=x).hist),
        ("bincount", lambda x: rl.bincount(rl.tensor([0, 1, 1]), weights=x)),
        ("floor_divide", lambda x: x // 2.0),
    ],
)
def test_what_torch_does_not_differentiate_says_so_at_backward(name, run):
    result = run(rl.tensor([0.1, 0.5, 0.9], requires_grad=True))
    assert result.grad_fn.name() == "torch::autograd::NotImplemented"
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        result.sum().backward()


def test_a_leaf_may_not_be_marked_dirty():
    class Doubles(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    leaf = rl.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used"):
        Doubles.apply(leaf)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        Doubles.apply(leaf[:1])
    y = leaf * 1
    assert Doubles.apply(y) is y
    with rl.no_grad():
        Doubles.apply(leaf)


def test_nodes_can_be_called():
    x = rl.ones(2, requires_grad=True)
    y = x * rl.tensor([3.0, 4.0])
    assert y.grad_fn(rl.ones(2))[0].tolist() == [3.0, 4.0]
    assert x.exp().grad_fn(rl.ones(2)).tolist() == pytest.approx([2.7182817, 2.7182817])


class _Identity(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return 3 * g


def test_an_input_returned_as_it_is_is_a_view_that_may_not_be_written_to():
    x = rl.ones(2, requires_grad=True)
    y = _Identity.apply(x)
    assert y is not x and y._is_view()
    assert rl.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"Output 0 of _Identity is a view.* inside a custom Function"):
        _Identity.apply(x).mul_(2)
    assert x.tolist() == [1.0, 1.0]
    assert _Identity.apply(rl.ones(2)).mul_(2).tolist() == [2.0, 2.0]
