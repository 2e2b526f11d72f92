"""Threads that call a compiled function share its memory, so they take turns. Threads that compute in it: `set_num_threads`."""

import copy
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import rushlight as torch
from rushlight.backend.onednn.library import available as has_onednn
from rushlight.compile.jit import backward as repeated
from rushlight.compile.lower.llvm import engine
from rushlight.compile.lower.llvm.program import _compiled as kernels
from rushlight.nn import functional as F

native = pytest.mark.skipif(not (engine.available() and has_onednn()), reason="no compiler or no oneDNN here")


@pytest.fixture
def counts():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield (1, 3, 3, 2)
    torch.set_num_threads(before)


def test_threads_share_a_compiled_function():
    def function(x):
        return torch.cummax(x, 0).values * 2 + (x @ x).tanh()  # cummax runs in Python between native stretches

    compiled = torch.compile(function)
    for _ in range(4):
        compiled(torch.ones(64, 64))

    def apart(seed):
        generator = torch.Generator().manual_seed(seed)
        inputs = [torch.randn(64, 64, generator=generator) for _ in range(200)]
        return max((compiled(x) - function(x)).abs().max().item() for x in inputs)

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(apart, range(4))) < 1e-4


def _trained(seed):
    """The losses and the parameters of a small network of its own, trained from `seed`."""
    draw = torch.Generator().manual_seed(seed)
    weights = [torch.randn(6, 8, generator=draw), torch.randn(8, 3, generator=draw)]
    parameters = [torch.nn.Parameter(w / 3) for w in weights]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    x, target = torch.randn(32, 6, generator=draw), torch.randint(0, 3, (32,), generator=draw)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        hidden = F.layer_norm(torch.tanh(x @ parameters[0]), (8,))
        hidden[:, 0] *= 2
        loss = F.cross_entropy(torch.cat([hidden[:16], hidden[16:].relu()]) @ parameters[1], target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach() for p in parameters]


def test_threads_build_graphs_of_their_own():
    """Without a global lock (python3.13t) the threads run at the same time."""
    alone = [_trained(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(_trained, [*range(4)] * 3))
    for i, (losses, parameters) in enumerate(together):
        assert losses == pytest.approx(alone[i % 4][0], rel=1e-5)
        for p, q in zip(parameters, alone[i % 4][1], strict=True):
            torch.testing.assert_close(p, q)
    assert len({loss for losses, _ in alone for loss in losses[-1:]}) == 4


def test_options_of_torchs_compiler_are_named_in_a_warning(recwarn):
    torch.compile(lambda x: x, options={"triton.cudagraphs": True})
    assert "triton.cudagraphs" in str(recwarn.pop(UserWarning).message)


def _network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1),
        torch.nn.BatchNorm2d(32),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3, stride=2),
        torch.nn.GELU(),
        torch.nn.Flatten(),
        torch.nn.Linear(64 * 49, 512),
        torch.nn.Linear(512, 10),
    )


def _batch(i):
    generator = torch.Generator().manual_seed(i)
    return torch.randn(64, 3, 16, 16, generator=generator), torch.randint(0, 10, (64,), generator=generator)


def _trainer(network, plainly=False):
    """A step; plainly: by an engine that compiles nothing."""
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(x), y)
        loss.backward(retain_graph=plainly)
        optimizer.step()
        return loss.detach()

    return step


@native
@pytest.mark.parametrize("how", ["step", "module", "loop"])
def test_another_number_of_threads_after_compiling(how, counts):
    """A whole step, a module, and a loop that knows nothing of compiling, against eager steps."""
    repeated.forget()
    network = _network()
    twin = copy.deepcopy(network)
    step = _trainer(network if how != "module" else torch.compile(network))
    step = torch.compile(step) if how == "step" else step
    other = _trainer(twin, plainly=True)
    for i in range(16):  # a loop's network becomes a program, too: then there is another one for its backward
        torch.testing.assert_close(step(*_batch(i)), other(*_batch(i)), rtol=1e-3, atol=1e-4)
    for n in counts:
        torch.set_num_threads(n)
        uses = {p: p.uses for p in repeated._state.programs}
        for i in range(2):
            torch.testing.assert_close(step(*_batch(i)), other(*_batch(i)), rtol=1e-3, atol=1e-4)
        if how == "loop":
            ran = [p for p in repeated._state.programs if p.uses > uses.get(p, 0)]
            assert ran and {p.executable.threads for p in ran} == {n}
    for p, q in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-2, atol=1e-3)


@native
def test_a_program_is_rebuilt_once_and_as_if_it_were_new(counts):
    network = _network().eval()
    x, _ = _batch(0)

    def compiled():
        f = torch.compile(lambda x: network(x))
        for _ in range(4):
            f(x)
        return f

    with torch.no_grad():
        f = compiled()
        program = f.captured[0].program.executable
        for n in counts:
            torch.set_num_threads(n)
            found, binder = f(x), program.binder
            assert program.threads == n
            assert torch.equal(found, compiled()(x))
            assert torch.equal(found, f(x)) and program.binder is binder


@native
def test_a_thread_computes_with_the_number_that_was_set_elsewhere(counts):
    """OpenMP keeps a number for each of Python's threads; primitives are made for one."""
    network = _network().eval()
    x, _ = _batch(0)
    torch.set_num_threads(1)
    f = torch.compile(lambda x: network(x))
    with torch.no_grad():
        for _ in range(4):
            expected = f(x)
    program = f.captured[0].program.executable
    binder = program.binder

    def elsewhere(_):
        with torch.no_grad():
            return f(x)

    with ThreadPoolExecutor(2) as pool:
        assert all(torch.equal(found, expected) for found in pool.map(elsewhere, range(6)))
    assert program.binder is binder and program.threads == 1


@native
def test_reset_gives_back_the_code_of_dropped_programs():
    known = kernels._known
    before = set(known)
    f = torch.compile(lambda x: (x * 1.2345678).sin().cumsum(0).exp())
    for i in range(4):
        f(torch.full((3, 5), float(i)))
    made = [weakref.ref(known[key]) for key in set(known) - before]
    assert made, "the function has no kernel of its own"
    del f
    assert all(code() is not None for code in made), "the latest kernels stay, for programs that are made again"
    torch.compiler.reset()
    assert [code() for code in made] == [None] * len(made)
