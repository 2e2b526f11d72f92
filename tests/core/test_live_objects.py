import gc
import subprocess
import sys
import sysconfig
import threading
import weakref

import pytest

import rushlight as torch
from rushlight.core import live_objects
from rushlight.core.live_objects import tensors_and_modules

FREE_THREADED = sysconfig.get_config_var("Py_GIL_DISABLED") == 1


@pytest.fixture
def looks(monkeypatch):
    """Whether each look was at the young generations only."""
    made, plain = [], live_objects.instances
    monkeypatch.setattr(
        live_objects, "instances", lambda *kinds, **options: made.append("young" in options) or plain(*kinds, **options)
    )
    return made


@pytest.fixture
def no_automatic_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _is_found(o):
    return any(found is o for found in tensors_and_modules())


@pytest.mark.usefixtures("no_automatic_collection")
@pytest.mark.parametrize(
    "between",
    [
        lambda: None,
        lambda: gc.collect(0),
        lambda: gc.collect(1),
        lambda: gc.collect(2),
        lambda: (gc.freeze(), gc.unfreeze()),
        lambda: gc.freeze(),
        lambda: (gc.freeze(), tensors_and_modules()),
        lambda: (gc.freeze(), tensors_and_modules(), gc.freeze()),
        lambda: tensors_and_modules(),
        lambda: (gc.collect(0), tensors_and_modules(), gc.collect(1)),
    ],
    ids=[
        "nothing",
        "young",
        "middle",
        "all",
        "thawed",
        "frozen",
        "frozen then looked",
        "frozen twice",
        "looked",
        "looked then collected",
    ],
)
def test_all_are_found_whatever_the_collector_did(between):
    old, module = torch.ones(3), torch.nn.Linear(2, 2)
    tensors_and_modules()
    new, later = torch.ones(3), torch.nn.Linear(2, 2)
    between()
    for o in (old, module, *module.parameters(), new, later, *later.parameters()):
        assert _is_found(o)


@pytest.mark.usefixtures("no_automatic_collection")
@pytest.mark.skipif(FREE_THREADED, reason="the collector has no generations")
def test_only_the_young_are_read_while_they_stay_young(looks):
    tensors_and_modules()
    del looks[:]
    tensors_and_modules()
    assert looks == [True]
    gc.collect(live_objects._YOUNG[-1])
    tensors_and_modules()
    assert looks == [True, True, False]  # the marker was not among the young


def test_nothing_is_frozen_where_the_program_froze_nothing():
    """Python 3.12 begins with frozen objects of its own."""
    program = """
import gc
import rushlight as torch
before = gc.get_freeze_count()
step = torch.compile(lambda x: x * 2 + 1)
for _ in range(5):
    step(torch.ones(3))
assert step.captured and gc.get_freeze_count() <= before, (before, gc.get_freeze_count())
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(FREE_THREADED, reason="what is frozen is set free there")
@pytest.mark.usefixtures("no_automatic_collection")
def test_what_other_threads_make_is_found_amid_freezing():
    made, stop = [], threading.Event()

    def work():
        while not stop.is_set():
            made.append(torch.ones(1))

    worker, before = threading.Thread(target=work), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    worker.start()
    try:
        for _ in range(30):
            gc.freeze()
            tensors_and_modules()
    finally:
        sys.setswitchinterval(before)
        stop.set()
        worker.join()
    found = set(map(id, tensors_and_modules()))
    assert all(id(t) in found for t in made)


@pytest.mark.skipif(FREE_THREADED, reason="what is frozen is set free there")
@pytest.mark.usefixtures("no_automatic_collection")
def test_what_is_frozen_is_looked_at_once(looks):
    frozen = torch.ones(3)
    gc.freeze()
    assert _is_found(frozen)
    assert gc.get_freeze_count()
    del looks[:]
    assert _is_found(frozen)
    assert looks == [True, False]  # the last marker was frozen as well
    assert _is_found(frozen)
    assert looks == [True, False, True]
    seen = weakref.ref(frozen)
    del frozen
    assert seen() is None


def test_a_step_is_compiled_after_the_heap_was_frozen():
    net = torch.nn.Linear(3, 2)
    optimizer, x = torch.optim.Adam(net.parameters()), torch.ones(4, 3)

    def step():
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step, fullgraph=True)
    compiled()
    gc.freeze()
    losses = [compiled().item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert not compiled.given_up


@pytest.mark.usefixtures("no_automatic_collection")
def test_looking_keeps_nothing_alive():
    t = torch.ones(3)
    seen = weakref.ref(t)
    assert _is_found(t)
    del t
    assert seen() is None


@pytest.mark.usefixtures("no_automatic_collection")
def test_unfinished_tensors_are_left_out_until_they_are_finished():
    t = torch.Tensor.__new__(torch.Tensor)
    is_finished = live_objects._is_finished(t)
    assert _is_found(t) == is_finished
    if not is_finished:
        whole = torch.ones(2)
        for name in ("_array", "_edge", "_grad", "_storage", "_view"):
            setattr(t, name, getattr(whole, name))
        assert _is_found(t)


def test_each_object_is_found_once_at_the_second_look():
    kept = [torch.ones(2) for _ in range(3)]  # on free-threaded builds each generation holds all objects
    for _ in range(2):
        found = [id(o) for o in tensors_and_modules()]
        assert len(found) == len(set(found))
        assert {id(t) for t in kept} <= set(found)
