"""Hooks on tensors, nodes and leaves: what they see, when they run, what they may change."""

import pytest

import rushlight as rl


def test_a_tensor_hook_sees_and_changes_the_gradient():
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    handle = y.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0]] and x.grad.tolist() == [20.0, 20.0]
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [22.0, 22.0]


def test_hooks_run_in_the_order_of_registration_once_per_backward():
    x = rl.tensor(1.0, requires_grad=True)
    order = []
    x.register_hook(lambda g: order.append("first"))
    x.register_hook(lambda g: order.append("second"))
    (x * 2 + x * 3).backward()
    assert order == ["first", "second"]


def test_a_leaf_hook_gets_the_whole_gradient():
    x = rl.tensor(1.0, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3).backward()
    assert seen == [5.0]


def test_a_hook_must_keep_type_and_shape():
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    for bad, error in [(lambda g: g[:1], RuntimeError), (lambda g: 3, TypeError)]:
        y = x * 2
        y.register_hook(bad)
        with pytest.raises(error):
            y.sum().backward()
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        rl.ones(1).register_hook(print)


def test_node_hooks_before_and_after():
    x = rl.tensor(3.0, requires_grad=True)
    y = x * x
    calls = []
    y.grad_fn.register_prehook(lambda outs: calls.append(("pre", outs[0].item())))
    y.grad_fn.register_hook(lambda ins, outs: calls.append(("post", [g.item() for g in ins], outs[0].item())))
    y.register_hook(lambda g: calls.append(("tensor", g.item())))
    y.backward()
    assert sorted(c[0] for c in calls) == ["post", "pre", "tensor"]
    assert calls[-1] == ("post", [3.0, 3.0], 1.0)


def test_node_hooks_change_gradients():
    x = rl.tensor(3.0, requires_grad=True)
    y = x.sin() * 2
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 5,))
    y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 0 + 7, *ins[1:]))
    y.backward()
    assert x.grad.item() == pytest.approx(7 * x.detach().cos().item())


def test_post_accumulate_hook_sees_the_tensor_with_its_gradient():
    x = rl.tensor(3.0, requires_grad=True)
    seen = []

    def step(t):
        seen.append((t is x, t.grad.item()))
        t.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2).backward()
    assert seen == [(True, 2.0)] and x.grad is None
    handle.remove()
    (x * 2).backward()
    assert x.grad.item() == 2.0
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(step)


def test_retain_grad_keeps_the_gradient_after_the_hooks():
    x = rl.tensor(3.0, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    assert y.retains_grad
    (y * y).backward()
    assert y.grad.item() == 120.0 and x.grad.item() == 240.0
    x.retain_grad()  # nothing happens on a leaf
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match="can't retain_grad"):
        rl.ones(1).retain_grad()


def test_retain_grad_follows_a_write_in_place():
    """The gradient that is kept is that of the tensor as it is last; its hooks stay with what it was."""
    x = rl.tensor([1.0, -2.0, 3.0], requires_grad=True)
    seen = []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.relu_()
    (y * 3).sum().backward()
    assert (y.grad.tolist(), seen, x.grad.tolist()) == ([3, 3, 3], [[3, 0, 3]], [6, 0, 6])
    y = x * 2
    y.retain_grad()
    y[:2].mul_(3)
    (y * y).sum().backward()
    assert y.grad.tolist() == [12, -24, 12]


def test_a_hook_on_the_gradient_of_a_gradient():
    x = rl.tensor(2.0, requires_grad=True)
    (g,) = rl.autograd.grad(x**3, x, create_graph=True)
    g.register_hook(lambda h: h * 2)
    (g2,) = rl.autograd.grad(g, x)
    assert g2.item() == 24.0


def test_hooks_run_for_grad_too():
    x = rl.tensor(2.0, requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g + 1)
    assert rl.autograd.grad(y, x)[0].item() == 7.0


def test_an_exception_in_a_hook_leaves_the_engine_usable():
    x = rl.tensor(2.0, requires_grad=True)
    y = x * 3

    def interrupt(g):
        raise KeyboardInterrupt

    handle = y.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        y.backward(retain_graph=True)
    assert rl.is_grad_enabled()
    handle.remove()
    y.backward()
    assert x.grad.item() == 3.0


def test_backward_into_a_tensor_that_is_no_leaf_adds_its_gradient_once():
    x = rl.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda g: (g[0] * 5,))
    z.sum().backward(inputs=[y], retain_graph=True)
    assert y.grad.tolist() == [30.0, 30.0] and x.grad is None
    z.sum().backward(inputs=[y, x])
    assert y.grad.tolist() == [60.0, 60.0] and x.grad.tolist() == [300.0, 300.0]


def test_hooks_of_an_accumulated_gradient_run_before_those_of_its_node():
    order = []
    x = rl.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: order.append("accumulated"))
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: order.append("after"))
    node.register_prehook(lambda outputs: order.append("before"))
    (x * 2).sum().backward()
    assert order == ["before", "accumulated", "after"]


@pytest.mark.parametrize("shape", [(4, 6), (5, 2, 6)])
@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_linear_layers_bias_comes_before_its_weight(shape, register):
    """torch's weight gets its gradient through a transpose, which waits for its turn; the bias does not."""
    net = rl.nn.Sequential(rl.nn.Linear(6, 3), rl.nn.Tanh(), rl.nn.Linear(3, 2))
    order = []
    for name, p in net.named_parameters():
        getattr(p, register)(lambda _, name=name: order.append(name))
    for x in (rl.ones(shape), rl.ones(shape, requires_grad=True)):
        order.clear()
        net(x).sum().backward()
        assert order == ["2.bias", "2.weight", "0.bias", "0.weight"]


def test_what_post_accumulate_hooks_may_return():
    def run(result):
        v = rl.zeros(3, requires_grad=True)
        v.register_post_accumulate_grad_hook(lambda p: p if result is ... else result)
        v.sum().backward()

    run(None)
    run(...)  # the tensor itself, as in-place methods return it
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        run(3)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        run(rl.ones(3))


def test_pack_hooks_leave_their_input_alone():
    x = rl.ones(2, requires_grad=True)
    with (
        rl.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
        pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
    ):
        x * x


def _given(result, inputs, **options):
    """Which gradients of its inputs the node of `result` is asked for, as its hook is shown them."""
    found = []
    handle = result.grad_fn.register_hook(lambda gi, go: found.append([g is not None for g in gi]))
    rl.autograd.grad(result.sum(), inputs, retain_graph=True, **options)
    handle.remove()
    return found[0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_only_the_gradients_that_are_wanted_are_computed(create_graph):
    """As in torch: no product for the weights where a program asks for the derivative by the input alone."""
    x, w, b = (rl.rand(*n, requires_grad=True) for n in ((3, 4), (4, 5), (5,)))
    y = rl.addmm(b, x, w)
    options = {"create_graph": create_graph}
    assert _given(y, x, **options) == [False, True, False]
    assert _given(y, (b, w), **options) == [True, False, True]
    assert _given((x * 1) * (x + 1), x, **options) == [True, True]
    image, kernel, bias = (rl.rand(*n, requires_grad=True) for n in ((1, 2, 5, 5), (3, 2, 3, 3), (3,)))
    z = rl.nn.functional.conv2d(image, kernel, bias)
    assert _given(z, image, **options) == [True, False, False]
    assert _given(z, kernel, **options) == [False, True, False]
    assert _given(rl.cat([x * 1, x + 1]), x, **options) == [True, True]


def test_an_input_alone_by_backward_and_by_a_write_into_a_view():
    x, w = rl.rand(3, requires_grad=True), rl.rand(1, requires_grad=True)
    y = x * w
    found = []
    y.grad_fn.register_hook(lambda gi, go: found.append([g is not None for g in gi]))
    y.sum().backward(inputs=[x], retain_graph=True)
    y.sum().backward()
    assert found == [[True, False], [True, True]]
    q = x * 1
    q[:1].mul_(w)
    (by_w,) = rl.autograd.grad(q.sum(), w, retain_graph=True)
    assert by_w.tolist() == x[:1].tolist() and _given(q, x) == [True, False]
    (by_x,) = rl.autograd.grad(q.sum(), x)
    assert by_x.tolist() == [w.item(), 1.0, 1.0]


def test_a_function_of_the_users_gets_all_that_it_returns():
    class Product(rl.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            asked.append(ctx.needs_input_grad)
            return g * b, g * a

    asked = []
    a, b = rl.ones(2, requires_grad=True), rl.ones(2, requires_grad=True)
    assert _given(Product.apply(a * 1, b), a) == [True, True] and asked == [(True, True)]


def test_what_is_wanted_of_a_node_that_runs_is_not_changed_by_its_hooks():
    """torch captures it before the hooks where something else is reached through the node, and after them otherwise."""
    a = rl.ones(2, requires_grad=True)
    t = a * 3
    t.register_hook(lambda g: g * 2)
    y = (t * 5).sum()
    (alone,) = rl.autograd.grad(y, t, retain_graph=True)
    by_a, with_a = rl.autograd.grad(y, (a, t), retain_graph=True)
    assert (alone.tolist(), by_a.tolist(), with_a.tolist()) == ([10.0] * 2, [30.0] * 2, [5.0] * 2)
    first, second = a.chunk(2)
    first.register_hook(lambda g: g * 2)
    y = (first * 5 + second).sum()
    assert rl.autograd.grad(y, (first, a), retain_graph=True)[0].tolist() == [5.0]
    assert rl.autograd.grad(y, first)[0].tolist() == [10.0]


def test_hooks_of_a_node_that_does_not_run_are_not_called():
    a = rl.ones(2, requires_grad=True)
    t, called = a * 3, []
    t.grad_fn.register_prehook(lambda go: called.append("pre"))
    t.grad_fn.register_hook(lambda gi, go: called.append("post"))
    rl.autograd.grad((t * 5).sum(), t)
    assert called == []


def test_hooks_see_the_inputs_that_have_gradients_in_torch():
    x, source = rl.ones(3, requires_grad=True), rl.ones(2, requires_grad=True)
    assert _given((x * 1).index_add_(0, rl.tensor([0, 2]), source), (x, source)) == [True, True]
    y = (x * 1).index_add(0, rl.tensor([0, 2]), source)
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2, gi[1] * 3))
    y.grad_fn.register_hook(lambda gi, go: (gi[0], gi[1] * 2))
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3 and source.grad.tolist() == [6.0] * 2
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: (gi[0], gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="hook returned 3 gradients, expected"):
        y.sum().backward()


def test_hooks_of_leaves_that_are_not_wanted_are_not_called():
    a, b, called = rl.ones(2, requires_grad=True), rl.ones(2, requires_grad=True), []
    a.register_hook(lambda g: called.append("a"))
    b.register_hook(lambda g: called.append("b"))
    rl.autograd.grad((a * b).sum(), b)
    (a * b).sum().backward(inputs=[b])
    rl.autograd.backward([a, b], [rl.ones(2), rl.ones(2)], inputs=[b])
    assert called == ["b"] * 3 and a.grad is None


def test_hooks_of_results_without_a_gradient_get_none():
    seen, x = [], rl.ones(3, 2, requires_grad=True)
    a, b, c = x.unbind(0)
    for name, part in (("a", a), ("c", c)):
        part.register_hook(lambda g, name=name: seen.append((name, g is None)))
    c.register_hook(lambda g: None).remove()
    b.sum().backward(retain_graph=True)
    assert seen == [("a", True), ("c", True)] and x.grad.tolist() == [[0, 0], [1, 1], [0, 0]]
    del c  # whose hooks are the node's
    seen.clear()
    a.sum().backward()
    assert sorted(seen) == [("a", False), ("c", True)]


def test_hooks_without_a_gradient_give_none():
    a, b = rl.ones(2, 2, requires_grad=True).unbind(0)
    a.register_hook(lambda g: rl.ones(2))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        b.sum().backward()


def test_hooks_of_a_functions_second_result():
    seen = []

    class Both(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 3

    x = rl.ones(2, requires_grad=True)
    p, q = Both.apply(x)
    q.register_hook(seen.append)
    p.sum().backward()
    assert seen == [None] and x.grad.tolist() == [2, 2]
