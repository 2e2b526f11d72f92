"""The cache of programs: counts, limits, who makes room, what the log says, and threads that meet it cold."""

import gc
import threading
import weakref

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.compile.jit import backward, cache, flat, loops, native_update, optimizer
from rushlight.compile.jit import eager as eager_programs
from rushlight.compile.jit.cache import Entry, Refused, Route
from rushlight.compile.jit.step import _route as steps
from rushlight.compile.lower.llvm import engine
from rushlight.core.dispatch.op import JIT_CANDIDATES

native = pytest.mark.skipif(not engine.available(), reason="no compiler here")


class Thing(Entry):
    running = False

    def __init__(self, size_bytes=0):
        super().__init__(size_bytes)
        self.gone = False

    def is_running(self):
        return self.running

    def evicted(self):
        self.gone = True

    def use(self, route):
        self.used = route.state.clock()


@pytest.fixture(params=[False, True], ids=["a thread's", "shared"])
def route(request, monkeypatch):
    monkeypatch.setattr(cache, "IDLE", 5)
    monkeypatch.setitem(cache.limits, "things", cache.Limits(2))
    yield Route("things", is_shared=request.param)
    del cache._routes["things"]


def made(route, key, size_bytes=0):
    return route.make(key, lambda: Thing(size_bytes), lambda: f"thing {key}")


def test_something_is_due_once_it_has_come_often_enough(route):
    assert [route.is_due("a", 2, 6) for _ in range(4)] == [False, False, True, False]
    assert [route.is_due("b", 1, 1), route.is_due("a", 100, 6)] == [True, True]


def test_a_key_is_built_once(route):
    first = made(route, "a")
    assert made(route, "a") is first and route.state.programs == {"a": first}


def test_the_one_used_least_recently_makes_room_once_it_is_idle(route):
    a, b = made(route, "a"), made(route, "b")
    assert made(route, "c") is None and not route.has_room(), "none is idle: they are used in turns"
    assert not route.is_due("d", 1, 1)
    for _ in range(6):
        a.use(route)
    assert route.is_due("d", 1, 1)
    made(route, "d")
    assert set(route.state.programs) == {"a", "d"} and b.gone and not a.gone


def test_one_that_runs_stays(route):
    a, b = made(route, "a"), made(route, "b")
    a.running = b.running = True
    for _ in range(10):
        route.state.clock()
    assert made(route, "c") is None
    b.running = False
    assert made(route, "d") is not None
    assert b.gone and not a.gone


def test_bytes(route):
    cache.set_limits("things", programs=10, size_bytes=100)
    a = made(route, "a", 60)
    assert made(route, "b", 50) is None and not a.gone
    for _ in range(10):
        route.state.clock()
    assert made(route, "too large", 101) is None and not a.gone, "none makes room for what has no place anyway"
    assert made(route, "c", 50) is not None and a.gone


def test_what_cannot_be_made_is_not_tried_again(route, monkeypatch):
    def fail():
        raise RuntimeError("not this")

    monkeypatch.delenv("RUSHLIGHT_CHECK", raising=False)
    assert route.make("a", fail, lambda: "a") is None and not route.is_due("a", 100, 1)
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    with pytest.raises(RuntimeError, match="not this"):
        route.make("b", fail, lambda: "b")


def test_limits_can_be_set(route):
    things = [made(route, key) for key in "ab"]
    things[0].use(route)
    cache.set_limits("things", programs=1)
    assert list(route.state.programs) == ["a"] and things[1].gone
    with pytest.raises(KeyError, match=r"no route .nothing.; the routes are .*things"):
        cache.set_limits("nothing", programs=1)
    with pytest.raises(ValueError, match="not negative"):
        cache.set_limits("things", size_bytes=-1)


def test_the_log_says_what_and_why(route, monkeypatch, capsys):
    monkeypatch.delenv("RUSHLIGHT_CHECK", raising=False)
    monkeypatch.setenv("RUSHLIGHT_LOG", "jit")

    def refuse():
        raise Refused("no reason")

    made(route, "a", 8), made(route, "b"), route.make("c", refuse, lambda: "thing c")
    for _ in range(6):
        route.state.clock()
    made(route, "d")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[rushlight jit] things: thing a is compiled, 8 bytes of memory"
    assert lines[2] == "[rushlight jit] things: thing c is not compiled: no reason"
    assert lines[3].startswith("[rushlight jit] things: a program of 8 bytes, used 0 times, is evicted")
    assert "things: 2 programs, 0.0 MB (at most 2); 1 refused" in cache.summary()


def test_counts_and_refused_keys_are_bounded(route, monkeypatch):
    monkeypatch.setattr(cache, "_KEYS", 10)
    for key in range(100):
        route.count(key)
        route.refuse(key, str, Refused())
    assert len(route.state.counts) <= 10 and len(route.state.refused) <= 10


def test_held_programs_live_as_long_as_their_holder(monkeypatch):
    monkeypatch.setitem(cache.limits, "held", cache.Limits(2))
    route = Route("held", is_shared=True, is_held=True)
    try:
        thing = made(route, "a")
        assert len(route.state.programs) == 1
        dead = weakref.ref(thing)
        del thing
        gc.collect()
        assert dead() is None and not route.state.programs
    finally:
        del cache._routes["held"]


def test_threads_that_share_a_route_get_one_program(monkeypatch):
    monkeypatch.setitem(cache.limits, "common", cache.Limits(100))
    route, results, go = Route("common", is_shared=True), [], threading.Barrier(8)

    def work():
        go.wait()
        results.append([made(route, key) for key in range(50)])

    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        del cache._routes["common"]
    assert len(results) == 8 and all(a is b for row in results for a, b in zip(row, results[0], strict=True))


# ---------------------------------------------------------------------------------------------- the routes


def trained(steps, seed=0):
    """Losses of an unmodified loop that comes by every route but `step`."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.Softplus(), torch.nn.Linear(48, 8))
    momentum = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(32, 64), torch.randint(0, 8, (32,))
    large, losses = torch.randn(400, 400), []
    for _ in range(steps):
        momentum.zero_grad()
        loss = F.cross_entropy(net(x), y) + torch.add(large, large, alpha=0.3).mean() + F.softplus(large).mean()
        loss = loss + F.log_softmax(large, -1).mean()
        loss.backward()
        momentum.step()
        losses.append(loss.item())
    return losses


@pytest.fixture
def eagerly_made(monkeypatch):
    """Programs are made early; all is forgotten before and after."""
    monkeypatch.setattr(loops, "_WORTHWHILE", 500_000)
    for record in JIT_CANDIDATES:
        monkeypatch.setattr(record, "jit_warmup", 500_000)
    torch.compile.reset()
    yield
    torch.compile.reset()


ROUTES = {"backward": backward._route, "eager": eager_programs._route, "flat": flat._route, "optimizer": optimizer._plans,
          "update": native_update._kernels, "loop": loops._route}  # fmt: skip


@native
def test_every_route_has_programs_and_forgets_them(eagerly_made, capsys, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_LOG", "jit")
    trained(20)
    said = capsys.readouterr().err
    for name in ROUTES:
        assert f"[rushlight jit] {name}: " in said, name
    holder = torch.compile(lambda x: x * 2 + 1)
    for _ in range(4):
        holder(torch.ones(3))
    assert len(steps.state.programs) == 1 and "step: 1 programs" in cache.summary()
    torch.compile.reset()
    assert not any(route.state.programs for route in (*ROUTES.values(), steps)) and not holder.captured


@native
@pytest.mark.parametrize("name", ROUTES)
def test_a_route_that_may_keep_nothing_leaves_all_to_eager(name, eagerly_made, monkeypatch):
    """The same losses to rounding, and no programs."""
    expected = trained(20)
    torch.compile.reset()
    monkeypatch.setattr(cache.limits[name], "programs", 0)
    np.testing.assert_allclose(trained(20), expected, 1e-5)
    assert not ROUTES[name].state.programs


@native
def test_a_compiled_function_beyond_the_limit_runs_eagerly(eagerly_made, monkeypatch):
    monkeypatch.setattr(cache.limits["step"], "programs", 1)
    double, triple = torch.compile(lambda x: x * 2), torch.compile(lambda x: x * 3)
    for _ in range(4):
        double(torch.ones(3))
    with pytest.warns(UserWarning, match="would exceed their limits"):
        for _ in range(4):
            result = triple(torch.ones(3))
    assert result.tolist() == [3, 3, 3] and triple.given_up and double.captured


@native
def test_an_idle_compiled_function_makes_room(eagerly_made, monkeypatch):
    monkeypatch.setattr(cache, "IDLE", 3)
    monkeypatch.setattr(cache.limits["step"], "programs", 1)
    double, triple = torch.compile(lambda x: x * 2), torch.compile(lambda x: x * 3)
    for _ in range(4):
        double(torch.ones(3))
    for _ in range(5):
        steps.state.clock()
    for _ in range(5):
        assert triple(torch.ones(3)).tolist() == [3, 3, 3]
    assert not double.captured and triple.captured
    assert double(torch.ones(3)).tolist() == [2, 2, 2] and not double.given_up


@native
def test_eight_threads_from_cold_caches(eagerly_made):
    """Each ends with the bits of a thread alone, whatever the others compile."""
    rows, go = {}, threading.Barrier(8)

    def work(k, wait=True):
        if wait:
            go.wait()
        rows[k] = losses_of(k)

    def losses_of(k):
        generator = np.random.default_rng(k)
        w = torch.from_numpy(generator.standard_normal((40, 40)).astype(np.float32)).requires_grad_()
        x = torch.from_numpy(generator.standard_normal((16, 40)).astype(np.float32))
        large = torch.from_numpy(generator.standard_normal(160_000).astype(np.float32))
        optimizer_ = torch.optim.Adam([w], lr=1e-2)
        losses = []
        for _ in range(16):
            optimizer_.zero_grad()
            loss = (x @ w).tanh().pow(2).mean() + F.softplus(large).mean() + torch.add(large, large, alpha=0.1).mean()
            loss.backward()
            optimizer_.step()
            losses.append(loss.item())
        return losses

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    together = dict(rows)
    for k in range(8):
        torch.compile.reset()
        alone = threading.Thread(target=work, args=(k, False))
        alone.start()
        alone.join()
    assert together == rows


def test_the_log_names_the_optimizer():
    from rushlight.compile.jit.options import named
    from rushlight.optim.algorithm import over_lists

    assert named(over_lists(torch.optim.RMSprop._rule)) == "a step of RMSprop"
