"""Weights in the library's own layout: packed once for each value, and from call to call while nothing writes them.

`_packed` counts what ran: a pack's flag is 1 before its reorder and 0 behind it, so the counts are of real work.
"""

import copy
import ctypes
import gc
import multiprocessing
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend import isa
from rushlight.backend.onednn.library import available as has_onednn
from rushlight.compile.lower.llvm import engine
from rushlight.compile.lower.winograd import bind as winograd
from rushlight.nn import functional as F

pytestmark = pytest.mark.skipif(not (engine.available() and has_onednn()), reason="no compiler or no oneDNN here")


@pytest.fixture(autouse=True)
def _without_winograd(monkeypatch):
    """Convolutions that pack their weights: Winograd's, which transform them, are tested in test_winograd.py."""
    monkeypatch.setattr(winograd, "_serves", lambda *refs: False)


def _conv(channels=32, out=32, kernel=3):
    torch.manual_seed(0)
    return torch.nn.Conv2d(channels, out, kernel, padding=1)


def _x(seed=1, channels=32):
    return torch.randn(4, channels, 12, 12, generator=torch.Generator().manual_seed(seed))


def _native(compiled):
    return compiled.captured[0].program.executable


class _Watched:
    """A compiled function of one argument under no_grad, its eager twin, and how many packs the last call made."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments
        self.compiled = torch.compile(lambda *a: function(*a))
        with torch.no_grad():
            for _ in range(4):
                self.compiled(*arguments)
        self.native = _native(self.compiled)
        self.packs = self.native.packs

    def __call__(self):
        """The packs made, after a comparison with the eager function."""
        made = []
        begin = self.packs.begin

        def watch(*values):
            begin(*values)
            made.append(int(self.packs.flags[: len(self.packs.packs)].sum()))

        self.packs.begin = watch
        try:
            with torch.no_grad():
                found = self.compiled(*self.arguments)
        finally:
            self.packs.begin = begin
        with torch.no_grad():
            torch.testing.assert_close(found, self.function(*self.arguments), rtol=1e-4, atol=1e-4)
        return made[0]

    @torch.no_grad()
    def result(self):
        """What the compiled function gives."""
        return self.compiled(*self.arguments)

    def settle(self):
        """Call until nothing is packed; the number of calls."""
        for n in range(4):
            if not self():
                return n
        raise AssertionError("packs are made again although nothing writes")


# ------------------------------------------------------------------------------------------------ within a program


def test_convolutions_of_one_weight_share_its_pack():
    layer, xs = _conv(), [_x(i) for i in range(3)]

    def three(a, b, c):
        return layer(a) + layer(b) + layer(c)

    compiled = torch.compile(three)
    with torch.no_grad():
        for _ in range(4):
            found = compiled(*xs)
        torch.testing.assert_close(found, three(*xs), rtol=1e-4, atol=1e-4)
    (pack,) = _native(compiled).needs.packs
    assert pack.first < pack.last and pack.is_made


def test_a_value_and_what_replaces_it_have_a_pack_each():
    """Both halves of a step that updates the weight between them. A step that writes its weights keeps no packs."""
    layer = _conv()
    twin = copy.deepcopy(layer)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (layer, twin)]
    x, y = _x(1), _x(2)

    def step(m, optimizer):
        optimizer.zero_grad()
        loss = (m(x).sin().mean() + m(y).cos().mean()) * 10
        loss.backward()
        optimizer.step()
        return loss.detach() + m(y).square().mean().detach()

    compiled = torch.compile(lambda: step(layer, optimizers[0]))
    for _ in range(8):
        torch.testing.assert_close(compiled(), step(twin, optimizers[1]), rtol=1e-4, atol=1e-5)
    native = _native(compiled)
    assert len(native.needs.packs) == 2 and not native.packs.sources
    torch.testing.assert_close(layer.weight, twin.weight, rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------------------------ from call to call


def test_a_weight_that_nobody_writes_is_packed_once():
    layers = torch.nn.Sequential(_conv(), torch.nn.ReLU(), _conv(32, 48), torch.nn.ReLU(), _conv(48, 32, 1))
    watched = _Watched(layers, _x())
    assert watched.settle() <= 2
    for seed in range(3):
        watched.arguments = (_x(seed),)
        assert watched() == 0
    with torch.no_grad():
        layers[2].weight.add_(1)
    assert watched() == 1  # of three
    assert watched() == 0


def test_a_pack_gets_room_of_its_own_only_where_that_pays():
    layer = _conv()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    compiled = torch.compile(lambda x: layer(x))
    for _ in range(8):
        compiled(_x()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    (source,) = _native(compiled).packs.sources
    assert not source.kept
    compiled(_x()), compiled(_x())
    assert source.kept


def _by_dlpack(w):
    array = np.from_dlpack(w.detach())
    yield
    array *= 0.5


def _by_ndarray(w):
    array = w.detach().numpy()
    yield
    array *= 0.5


def _by_ndarray_of_data(w):
    array = w.data.numpy()
    yield
    array[3] += 1


def _by_array_protocol(w):
    array = np.asarray(w.detach())
    yield
    array += 0.25


def _by_address(w):
    place = (ctypes.c_float * w.numel()).from_address(w.data_ptr())
    yield
    place[5] = 7.0


def _by_storage(w):
    storage = w.untyped_storage()
    yield
    storage.fill_(0)


def _by_typed_storage(w):
    storage = w.storage()
    yield
    storage[7] = 9.0


def _by_shared_memory(w):
    w.share_memory_()
    yield
    process = multiprocessing.get_context("fork").Process(target=_halve, args=(w,))
    process.start()
    process.join(60)
    assert process.exitcode == 0


def _halve(w):
    w.data.mul_(0.5)


def _by_alias(w):
    alias = w.detach()
    yield
    alias.mul_(0.5)


def _by_data(w):
    yield
    w.data.mul_(0.5)


def _by_kept_data(w):
    data = w.data
    yield
    data[2:5].mul_(0.5)


def _by_view(w):
    rows = w.detach()[3:9, 2]
    yield
    rows.fill_(1.0)


def _by_new_data(w):
    yield
    w.data = w.data * 0.5


def _by_data_then_its_source(w):
    source = w.detach() * 0.5
    w.data = source
    yield
    source.add_(1)


def _by_set(w):
    yield
    with torch.no_grad():
        w.set_((w * 0.5).detach())


def _by_set_then_its_source(w):
    source = (w * 0.5).detach()
    with torch.no_grad():
        w.set_(source)
    yield
    source.neg_()


def _by_copied_tensor(w):
    alias = copy.copy(w.detach())
    yield
    alias.mul_(0.5)


def _by_out(w):
    target = w.detach()
    yield
    torch.add(w.detach(), 1, out=target)


def _by_copy(w):
    yield
    with torch.no_grad():
        w.copy_(w * 0.5)


def _by_init(w):
    yield
    torch.nn.init.normal_(w)


def _by_eager_optimizer(w):
    optimizer = torch.optim.SGD([w], lr=0.5)
    yield
    w.grad = torch.ones_like(w)
    optimizer.step()


def _by_compiled_program(w):
    @torch.compile
    def halve():
        with torch.no_grad():
            w.mul_(0.5)
        return w.detach().sum()

    for _ in range(4):
        halve()
    yield
    halve()


def _by_compiled_program_through_data(w):
    @torch.compile
    def halve():
        w.data.mul_(0.5)
        return w.detach().sum()

    for _ in range(4):
        halve()
    yield
    halve()


def _by_numpy_from_the_start(w):
    array = (w.detach() * 2).numpy().copy()
    w.data = torch.from_numpy(array)
    yield
    array *= 0.5


def _by_vector(w):
    yield
    torch.nn.utils.vector_to_parameters(torch.arange(float(w.numel())) / 5000, [w])


def _by_vector_kept(w):
    vector = torch.arange(float(w.numel())) / 5000
    torch.nn.utils.vector_to_parameters(vector, [w])
    yield
    vector.mul_(2)


def _by_swap(w):
    other = torch.nn.Parameter((w * 0.5).detach())
    yield
    torch.utils.swap_tensors(w, other)


WRITES = [f for name, f in sorted(globals().items()) if name.startswith("_by_")]


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__[4:])
def test_a_write_from_outside_is_seen(write):
    layer = _conv()
    watched = _Watched(layer, _x())
    steps = write(layer.weight)
    next(steps)
    for _ in range(3):
        watched()
    before = watched.result()
    next(steps, None)
    watched()  # compares with the eager function
    assert not torch.allclose(before, watched.result())
    watched()


@pytest.mark.parametrize("write", [_by_ndarray, _by_dlpack, _by_address, _by_storage, _by_array_protocol])
def test_memory_that_was_handed_out_is_packed_in_every_call(write):
    layer = _conv()
    watched = _Watched(layer, _x())
    watched.settle()
    steps = write(layer.weight)
    next(steps)
    assert [watched() for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize(
    "write", [_by_alias, _by_data, _by_kept_data, _by_view, _by_init, _by_new_data, _by_copied_tensor]
)
def test_what_only_tensors_write_is_packed_once_more(write):
    layer = _conv()
    watched = _Watched(layer, _x())
    steps = write(layer.weight)
    next(steps)
    watched.settle()
    next(steps, None)
    assert watched.settle() >= 1


def test_saving_and_copying_a_module_hands_nothing_out(tmp_path):
    layer = _conv()
    watched = _Watched(layer, _x())
    watched.settle()
    torch.save(layer.state_dict(), tmp_path / "layer.pt")
    copy.deepcopy(layer)
    layer.load_state_dict(torch.load(tmp_path / "layer.pt"))
    assert watched() == 1
    assert watched() == 0
    layer.load_state_dict({k: v * 0.5 for k, v in layer.state_dict().items()})
    assert watched() == 1


def test_a_failed_call_leaves_no_pack_behind():
    layer = _conv()
    watched = _Watched(lambda x, i: layer(x).index_select(0, i), _x(), torch.tensor([0]))
    watched.settle()
    with torch.no_grad():
        layer.weight.mul_(0.5)
    good, watched.arguments = watched.arguments, (_x(), torch.tensor([99]))
    with pytest.raises(IndexError, match="out of range"):
        watched.result()
    watched.arguments = good
    assert watched() == 1
    assert watched() == 0


def test_weights_that_are_arguments():
    weights = [torch.randn(32, 32, 3, 3) for _ in range(2)]
    watched = _Watched(lambda x, w: F.conv2d(x, w, padding=1), _x(), weights[0])
    watched.settle()
    watched.arguments = (_x(), weights[1])
    assert watched() == 1
    watched()
    assert watched() == 0
    alive = weakref.ref(weights[1]._array)
    watched.arguments = (_x(), weights[0])
    del weights[1]
    assert alive() is None  # the program keeps none of its arguments
    assert watched() == 1


def test_a_gradient_as_the_weight_of_another_program():
    """The engine adds to gradients in place, and notes it where somebody may see."""
    w = torch.zeros(32, 32, 3, 3, requires_grad=True)
    (w * 2).sum().backward()
    watched = _Watched(lambda x: F.conv2d(x, w.grad, padding=1), _x())
    for _ in range(3):
        watched()
        (w * 2).sum().backward()


def test_micro_batches_of_a_compiled_module_pack_once():
    """Forward and backward are two programs; between two steps of the optimizer the weights stay."""
    networks = [torch.nn.Sequential(_conv(), torch.nn.ReLU(), _conv(32, 48)) for _ in range(2)]
    networks[1].load_state_dict(networks[0].state_dict())
    compiled = torch.compile(lambda x: networks[0](x))
    optimizers = [torch.optim.SGD(n.parameters(), lr=0.01, momentum=0.9) for n in networks]
    made = []
    for step in range(5):
        for part in range(4):
            x = _x(10 * step + part).requires_grad_()
            for network in (compiled, networks[1]):
                network(x).square().mean().backward()
        if step == 0:
            program = compiled.captured[0].program
            for native in (program.executable, program.backward.executable):
                native.packs.begin = _counting(native.packs, made)
        torch.testing.assert_close(networks[0][0].weight.grad, networks[1][0].weight.grad, rtol=1e-4, atol=1e-6)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    last = made[-8:]
    assert sum(last) == sum(last[:2]) > 0  # in the first of the four micro-batches only


def _counting(packs, made):
    begin = packs.begin

    def count(*values):
        begin(*values)
        made.append(int(packs.flags[: len(packs.packs)].sum()))

    return count


def test_threads_that_write_while_a_program_runs():
    """Whatever a run that races with a write sees, the next one after it sees the write."""
    import threading

    layer = _conv(64, 64)
    watched = _Watched(layer, _x(channels=64))
    watched.settle()
    stop = threading.Event()

    def write():
        while not stop.is_set():
            with torch.no_grad():
                layer.weight.mul_(-1)

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(50):
        watched.result()
    stop.set()
    thread.join()
    watched()
    gc.collect()


def test_linear_layers_with_many_rows_pack_once():
    layer = torch.nn.Linear(300, 512)
    watched = _Watched(layer, torch.randn(640, 300))
    if isa.effective() == "amx":  # the product is made in parts there, of the weight as it is
        assert not watched.packs.packs
        with torch.no_grad():
            layer.weight[3] = 2.0
            found = watched.compiled(*watched.arguments)
            torch.testing.assert_close(found, layer(*watched.arguments), rtol=1e-4, atol=1e-4)
        return
    assert watched.packs.packs
    watched.settle()
    with torch.no_grad():
        layer.weight[3] = 2.0
    assert watched() == 1
    assert watched() == 0
