"""What the engine owes its users: threads, depth, freed memory, errors, anomaly mode, hooks on saved tensors, copies."""

import copy
import gc
import pickle
import threading
import weakref

import pytest

import rushlight as rl


def leaf(*values):
    return rl.tensor(values, requires_grad=True)


def in_threads(f, n=4):
    """Run f(i) in n threads at once; errors are raised here."""
    errors = []

    def run(i):
        try:
            f(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def test_independent_graphs_in_threads():
    def train(i):
        x = leaf(float(i), 1.0)
        for _ in range(50):
            (x * x).sum().backward()
        assert x.grad.tolist() == [100.0 * i, 100.0]

    in_threads(train)


def test_threads_share_a_leaf():
    w = leaf(1.0, 2.0)
    lock = threading.Lock()

    def work(i):
        for _ in range(20):
            y = (w * (i + 1)).sum()
            with lock:
                y.backward()

    in_threads(work)
    assert w.grad.tolist() == [200.0, 200.0]


def test_a_graph_may_be_walked_in_another_thread():
    x = leaf(3.0)
    y = x * x
    in_threads(lambda i: y.backward(), 1)
    assert x.grad.item() == 6.0


def test_a_chain_of_100_000_nodes():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_destroying_a_long_chain_without_backward():
    y = leaf(1.0)
    for _ in range(100_000):
        y = y * 1.0
    del y


def test_a_graph_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        h = x.exp()
        y = (h * h.view(2, 1)).sum()
        refs = [weakref.ref(h), weakref.ref(h.grad_fn), weakref.ref(y.grad_fn)]
        y.backward()
        del h, y
        assert [r() for r in refs] == [None] * 3
    finally:
        gc.enable()


def test_in_place_and_views_make_no_cycles():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        h = x * 1
        v = h[0]
        v.mul_(2)
        h[1:].add_(1)
        h.exp_()
        refs = [weakref.ref(h), weakref.ref(v), weakref.ref(h.grad_fn)]
        h.sum().backward()
        del h, v
        assert [r() for r in refs] == [None] * 3
    finally:
        gc.enable()


def test_a_function_that_saves_its_output_makes_no_cycle():
    class Exp(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(leaf(1.0))
        ref = weakref.ref(y)
        del y
        assert ref() is None
    finally:
        gc.enable()


def test_backward_frees_what_was_saved():
    x = leaf(1.0, 2.0)
    h = x * 2
    y = (h * h).sum()
    ref = weakref.ref(h)
    del h
    y.backward()
    assert ref() is None and y.requires_grad


def test_an_error_in_backward_leaves_everything_usable():
    class Fails(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("my backward failed")

    x = leaf(1.0)
    with pytest.raises(ValueError, match="my backward failed"):
        Fails.apply(x).backward()
    assert rl.is_grad_enabled() and x.grad is None
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_backward_inside_backward():
    class Reentrant(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with rl.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x**2
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            with rl.enable_grad():
                ctx.y.backward(g)
            return ctx.x.grad

    x = leaf(3.0)
    (Reentrant.apply(x) * 2).backward()
    assert x.grad.item() == 12.0


# ---------------------------------------------------------------------------------------------- anomaly mode


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_finds_nan():
    with rl.autograd.detect_anomaly(), pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
        x = leaf(-1.0)
        y = x.sqrt()
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            y.backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_names_the_forward_line():
    with (
        rl.autograd.detect_anomaly(),
        pytest.warns(UserWarning, match=r"test_engine\.py.*\n.*y = leaf\(-1\.0\)\.sqrt\(\)"),
    ):
        y = leaf(-1.0).sqrt()
        with pytest.raises(RuntimeError, match="nan values"):
            y.backward()


def test_anomaly_mode_finds_nan_in_bfloat16():
    with rl.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
        y = (rl.zeros(2, dtype=rl.bfloat16, requires_grad=True).sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match="SqrtBackward0' returned nan values in its 0th output"):
            y.backward()


def test_anomaly_mode_shows_the_forward_line_of_a_value_that_was_overwritten():
    with rl.autograd.set_detect_anomaly(True):
        y = leaf(1.0, 2.0).exp()
        z = y * y
        with rl.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            z.sum().backward()
    assert "z = y * y" in caught.value.__notes__[0]


def test_a_saved_result_is_freed_with_the_graph():
    y = leaf(1.0, 2.0).exp()
    loss = y.sum()
    memory = weakref.ref(y._array)
    del y
    loss.backward()
    assert memory() is None


def test_anomaly_mode_can_be_switched():
    before = rl.autograd.anomaly.is_anomaly_enabled() if hasattr(rl.autograd, "anomaly") else False
    with rl.autograd.set_detect_anomaly(True, check_nan=False):
        x = leaf(-1.0)
        x.sqrt().backward()
    assert x.grad.isnan().all() and before is False


# ---------------------------------------------------------------------------------------------- hooks on saved tensors


def test_saved_tensors_hooks_pack_and_unpack():
    log = []

    def pack(t):
        log.append("pack")
        return t.tolist()

    def unpack(values):
        log.append("unpack")
        return rl.tensor(values) * 10

    x = leaf(2.0, 3.0)
    with rl.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * rl.tensor([5.0, 7.0])
    assert log == ["pack"]
    y.sum().backward()
    assert log == ["pack", "unpack"] and x.grad.tolist() == [50.0, 70.0]


def test_the_innermost_hooks_count_and_errors_come_through():
    x = leaf(2.0)
    hooks = rl.autograd.graph.saved_tensors_hooks

    def refuse(t):
        raise ValueError("not saving")

    with hooks(refuse, lambda t: t), hooks(lambda t: t, lambda t: t):
        y = x.exp()
    y.backward()
    with hooks(refuse, lambda t: t), pytest.raises(ValueError, match="not saving"):
        x.exp()
    with (
        rl.autograd.graph.disable_saved_tensors_hooks("no hooks here"),
        pytest.raises(RuntimeError, match="no hooks here"),
        hooks(refuse, refuse),
    ):
        pass
    with rl.autograd.graph.save_on_cpu():
        y = x.exp()
    y.backward()


def test_packed_results_hold_no_memory():
    class Token:
        pass

    x = leaf(1.0, 2.0)
    with rl.autograd.graph.saved_tensors_hooks(lambda t: Token(), lambda token: rl.zeros(2)):
        h = x.exp()
        y = h.sigmoid()
    ref = weakref.ref(h)
    del h
    assert ref() is None
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_gradient_edges():
    x = leaf(2.0)
    y = x * 3
    edge = rl.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0


def test_gradients_of_gradient_edges():
    place = rl.autograd.graph.get_gradient_edge
    x = rl.tensor([[1.0, 3.0], [5.0, 2.0]], requires_grad=True)
    y = x * 2
    z = y * y
    largest, rest = z.max(1).values, z.split(1, 1)[0]
    assert place(largest) == place(largest) and place(largest).output_nr == 0
    (of_z,) = rl.autograd.grad(place(z), x, rl.ones(2, 2), retain_graph=True)
    assert of_z.tolist() == [[8.0, 24.0], [40.0, 16.0]]
    given = [rl.ones(2), rl.full((2, 1), 10.0)]
    of_y, of_rest = rl.autograd.grad([place(largest), place(rest)], [place(y), place(rest)], given, retain_graph=True)
    assert of_y.tolist() == [[40.0, 12.0], [220.0, 0.0]] and of_rest.tolist() == [[10.0], [10.0]]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        rl.autograd.grad(place(z), x, rl.ones(3))
    with pytest.raises(RuntimeError, match="implicitly created only for scalar"):
        rl.autograd.backward(place(z))
    rl.autograd.backward([place(z.sum()), place(x)], [None, rl.ones(2, 2)])
    assert x.grad.tolist() == [[9.0, 25.0], [41.0, 17.0]]


# ---------------------------------------------------------------------------------------------- copies


def test_pickled_tensors():
    x = leaf(1.0, 2.0)
    y = pickle.loads(pickle.dumps(x))
    assert y.requires_grad and y.is_leaf and y.tolist() == [1.0, 2.0] and y.data_ptr() != x.data_ptr()


def test_deepcopy_keeps_sharing_and_gradients():
    x = leaf(1.0, 2.0)
    x.sum().backward()
    a, b = copy.deepcopy([x, x])
    assert a is b and a is not x and a.requires_grad and a.grad.tolist() == [1.0, 1.0] and a.grad is not x.grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_sums_of_gradients_are_silent_about_nan(passes):
    """Infinity less infinity, in a tensor used three times, and in `.grad` (warnings are errors here)."""
    x, up, down = leaf(1.0, 2.0), rl.tensor([float("inf"), 1.0]), rl.tensor([-float("inf"), 1.0])
    for _ in range(passes):
        y = x * 1
        ((y * up).sum() + (y * down).sum() + (y * up).sum()).backward()
    assert x.grad[0].isnan() and x.grad[1] == 3.0 * passes
    x.grad = None
    (x * up).sum().backward()
    (x * down).sum().backward()
    assert x.grad[0].isnan() and x.grad[1] == 2.0
