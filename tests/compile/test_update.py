"""An optimizer's step as one native call, whatever the optimizer and its options.

The exact variant gives the same bits as over arrays, the quick one the same numbers to rounding.
"""

import copy
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compile.jit import native_update
from rushlight.compile.jit import optimizer as optimizer_step
from rushlight.compile.jit.update import NotTraceable, evaluate, holds, trace
from rushlight.compile.lower.llvm import engine
from rushlight.compile.lower.update import NO_VALUE
from rushlight.core.jit_switch import jit
from rushlight.optim import adam, dense, radam, sgd
from rushlight.optim.algorithm import over_lists

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(not jit.on, reason="turned off by RUSHLIGHT_JIT")

SHAPES = [(3, 4), (5,), (2, 3, 2), (), (1, 1, 2), (17, 19)]
STEPS = 8
CASES = {
    "SGD": [
        {},
        {"weight_decay": 0.1, "maximize": True},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
        {"momentum": 0.8, "nesterov": True, "weight_decay": 1},
    ],
    "Adam": [
        {},
        {"weight_decay": 0.1, "maximize": True, "eps": 0.01},
        {"amsgrad": True},
        {"betas": (0.3, 0.5)},
        {"betas": (0.0, 0.0), "decoupled_weight_decay": True, "weight_decay": 0.3},
    ],
    "AdamW": [{}, {"amsgrad": True, "weight_decay": 0, "maximize": True}],
    "RMSprop": [{}, {"centered": True}, {"momentum": 0.9}, {"centered": True, "momentum": 0.5, "weight_decay": 0.1}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.1}, {"initial_accumulator_value": 0.5, "maximize": True}],
    "Adadelta": [{}, {"rho": 0.5, "weight_decay": 0.1, "maximize": True}],
    "Adamax": [{}, {"weight_decay": 0.1, "betas": (0.4, 0.9)}],
    "NAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1}],
    "RAdam": [{}, {"weight_decay": 0.1, "maximize": True}, {"decoupled_weight_decay": True, "weight_decay": 0.2}],
    "ASGD": [{}, {"t0": 4, "lambd": 0.1}, {"weight_decay": 0.1, "alpha": 0.5, "maximize": True, "t0": 2}],
}
TABLE = [(name, options) for name, cases in CASES.items() for options in cases]


def parameters(dtype="float32", shapes=SHAPES, seed=7):
    rs = np.random.RandomState(seed)
    kind = getattr(torch, dtype)
    return [torch.from_numpy(np.asarray(rs.standard_normal(s))).to(kind).requires_grad_() for s in shapes]


def give_gradients(params, step, without=()):
    rs = np.random.RandomState(100 + step)
    for i, p in enumerate(params):
        values = torch.from_numpy(np.asarray(rs.standard_normal(p.shape))).to(p.dtype)
        p.grad = None if i in without else values


def advance(params, optimizer, steps=range(STEPS), without=()):
    for step in steps:
        for group in optimizer.param_groups:
            group["lr"] = 0.05 / (1 + step)
        give_gradients(params, step, without)
        optimizer.step()


def snapshot(params, optimizer):
    state = optimizer.state_dict()["state"]
    arrays = [p.detach()._array.copy() for p in params]  # also of types that `numpy()` refuses
    return arrays + [v._array.copy() for s in state.values() for v in s.values() if isinstance(v, torch.Tensor)]


def assert_same(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8))


@pytest.fixture
def native_steps(monkeypatch):
    """Counts the steps that are done natively."""
    done = []
    plain = optimizer_step.step

    def step(*args):
        done.append(plain(*args))
        return done[-1]

    monkeypatch.setattr(dense.native, "step", step)
    return done


def over_arrays(monkeypatch, run):
    with monkeypatch.context() as patch:
        patch.setattr(jit, "on", False)
        return run()


def both(monkeypatch, run):
    """What ``run`` gives by the exact variant, after a check that over arrays it gives the same."""
    expected = over_arrays(monkeypatch, run)
    with monkeypatch.context() as patch:
        patch.setattr(optimizer_step, "_quick", False)
        got = run()
    assert_same(got, expected)
    return got


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("name", "options"), TABLE, ids=[f"{name} {options}" for name, options in TABLE])
def test_native_is_array_bit_for_bit(name, options, dtype, monkeypatch, native_steps):
    def run():
        params = parameters(dtype)
        optimizer = getattr(torch.optim, name)(params, lr=0.1, **options)
        advance(params, optimizer)
        return snapshot(params, optimizer)

    both(monkeypatch, run)
    assert native_steps[STEPS:].count(True) >= STEPS - 3


@pytest.mark.parametrize("name", ["SGD", "Adam", "RAdam"])
def test_large_parameters_are_shared_by_threads(name, monkeypatch, native_steps):
    options = {"momentum": 0.9} if name == "SGD" else {}

    def run():
        params = parameters(shapes=[(7,), (300, 401), (33, 1000), (1,), (64,)])
        optimizer = getattr(torch.optim, name)(params, lr=0.1, **options)
        advance(params, optimizer)
        return snapshot(params, optimizer)

    both(monkeypatch, run)
    assert native_steps[STEPS:].count(True) >= STEPS - 3


@pytest.mark.parametrize("name", ["SGD", "Adam", "ASGD"])
def test_a_parameter_without_elements_changes_nothing(name, monkeypatch, native_steps):
    def run(shapes):
        params = parameters(shapes=shapes)
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        advance(params, optimizer)
        return [p.detach().numpy().copy() for p in params] + [s["step"].numpy() for s in optimizer.state.values() if s]

    expected = over_arrays(monkeypatch, lambda: run([(3, 4), (5,)]))
    monkeypatch.setattr(optimizer_step, "_quick", False)
    got = run([(3, 4), (5,), (0, 3)])
    assert native_steps[-3:] == [True] * 3
    assert_same(got[:2], expected[:2])
    assert {float(step) for step in got[3:]} <= {float(STEPS)}


def test_groups_with_other_options(monkeypatch, native_steps):
    def run():
        params = parameters()
        groups = [{"params": params[:3]}, {"params": params[3:], "weight_decay": 0.1, "amsgrad": True}]
        optimizer = torch.optim.AdamW(groups, lr=0.1, weight_decay=0.0)
        advance(params, optimizer)
        return snapshot(params, optimizer)

    both(monkeypatch, run)
    assert native_steps[2 * STEPS :].count(True) == 2 * (STEPS - 2)


def test_a_gradient_that_comes_later(monkeypatch):
    def run():
        params = parameters()
        optimizer = torch.optim.Adam(params, lr=0.1)
        advance(params, optimizer, range(4), without=(1,))
        advance(params, optimizer, range(4, 8))
        advance(params, optimizer, range(8, 10), without=(0, 5))
        return snapshot(params, optimizer)

    both(monkeypatch, run)


def test_options_that_switch_what_is_done(monkeypatch, native_steps):
    def run():
        params = parameters()
        optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
        for step in range(20):
            optimizer.param_groups[0]["weight_decay"] = 0.1 if step // 5 % 2 else 0
            optimizer.param_groups[0]["momentum"] = 0.9 - step / 100
            advance(params, optimizer, [step])
        return snapshot(params, optimizer)

    both(monkeypatch, run)
    assert native_steps[20:].count(True) >= 10


def test_strided_parameters_fall_back_and_transposed_ones_do_not(monkeypatch, native_steps):
    def run(build):
        def steps():
            params = [build(torch.from_numpy(np.arange(24.0, dtype="float32").reshape(4, 6))).requires_grad_()]
            optimizer = torch.optim.Adam(params, lr=0.1)
            for step in range(6):
                give_gradients(params, step)
                params[0].grad = torch.empty_like(params[0].detach()).copy_(params[0].grad)
                optimizer.step()
            return snapshot(params, optimizer)

        return steps

    both(monkeypatch, run(lambda x: x[:, ::2].detach()))
    assert not any(native_steps)
    both(monkeypatch, run(lambda x: x.t().detach()))
    assert native_steps[-3:] == [True] * 3


def test_overlapping_memory_falls_back(monkeypatch, native_steps):
    def run():
        base = torch.from_numpy(np.arange(12.0, dtype="float32"))
        params = [base[:8].detach().requires_grad_(), base[4:].detach().requires_grad_()]
        optimizer = torch.optim.SGD(params, lr=0.1)
        advance(params, optimizer)
        return snapshot(params, optimizer)

    both(monkeypatch, run)
    assert not any(native_steps)


def test_a_gradient_that_is_a_parameter(monkeypatch, native_steps):
    def run():
        params = parameters(shapes=[(4, 4), (4, 4)])
        optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
        advance(params, optimizer, range(5))
        for _ in range(3):
            params[0].grad, params[1].grad = params[1].detach(), params[0].detach()
            optimizer.step()
        return snapshot(params, optimizer)

    both(monkeypatch, run)
    assert native_steps[-4:] == [True, False, False, False]


def test_two_optimizers_and_copies(monkeypatch):
    def run():
        first, second = parameters(seed=1), parameters(seed=2)
        optimizers = [torch.optim.Adam(first, lr=0.1), torch.optim.Adam(second, lr=0.2, betas=(0.5, 0.9))]
        for step in range(6):
            for params, optimizer in zip((first, second), optimizers, strict=True):
                advance(params, optimizer, [step])
        twin, twin_optimizer = copy.deepcopy((first, optimizers[0]))
        advance(twin, twin_optimizer, range(6, 10))
        advance(first, optimizers[0], range(6, 8))
        return [*snapshot(first, optimizers[0]), *snapshot(second, optimizers[1]), *snapshot(twin, twin_optimizer)]

    both(monkeypatch, run)


def test_state_and_data_may_be_replaced(monkeypatch, native_steps):
    def run():
        params = parameters()
        optimizer = torch.optim.AdamW(params, lr=0.1)
        advance(params, optimizer, range(5))
        saved = copy.deepcopy(optimizer.state_dict())
        advance(params, optimizer, range(5, 7))
        optimizer.load_state_dict(saved)
        params[0].data = torch.ones(3, 4)
        advance(params, optimizer, range(7, 10))
        return snapshot(params, optimizer)

    both(monkeypatch, run)
    assert native_steps[-3:] == [True] * 3


def test_versions_and_writers(native_steps):
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.5)
    for step in range(6):
        give_gradients([w], step)
        optimizer.step()
        assert w._version == step + 1
    assert native_steps[-1]
    loss = (w * w).sum()
    give_gradients([w], 7)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_number_without_value_is_pythons_error(native_steps):
    params = parameters()
    optimizer = torch.optim.Adagrad(params, lr=0.1)
    advance(params, optimizer, range(5))
    optimizer.param_groups[0]["lr_decay"] = -1 / 5  # the sixth step divides by 1 + 5 * lr_decay = 0
    before = snapshot(params, optimizer)[len(params) :]
    give_gradients(params, 5)
    with pytest.raises(ZeroDivisionError):
        optimizer.step()
    assert native_steps[-2:] == [True, False]
    assert len(before) == 2 * len(params)


def test_read_only_memory_is_not_written(native_steps):
    values = np.ones(3, "float32")
    w = torch.from_numpy(values).requires_grad_()
    optimizer = torch.optim.SGD([w], lr=0.5)
    for step in range(5):
        give_gradients([w], step)
        optimizer.step()
    assert native_steps[-1]
    w._array.setflags(write=False)
    give_gradients([w], 6)
    with pytest.raises(ValueError, match="read-only"):
        optimizer.step()


SCRIPT = """
import os, sys
if "no-llvmlite" in sys.argv:
    sys.modules["llvmlite"] = None
import rushlight as torch
from rushlight.compile import optimizer_step
from rushlight.compile.lower.llvm import engine
from rushlight.compile.lower.update import NO_VALUE

def steps(n):
    for _ in range(n):
        w.grad = torch.full((40000,), 0.5)
        optimizer.step()

w = torch.ones(40000, requires_grad=True)
optimizer = torch.optim.Adam([w], lr=0.1)
steps(5)
print(any(group.plans for group in optimizer_step._groups.values()), "llvmlite" in sys.modules, flush=True)
if "fork" in sys.argv:
    child = os.fork()
    steps(2)
    if not child:
        print(w[0].item(), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(w[0].item(), flush=True)
"""


@pytest.mark.parametrize(
    ("argument", "jit", "expected"),
    [("", "1", "True True"), ("", "0", "False False"), ("no-llvmlite", "1", "False True")],
)
def test_without_native_code_steps_run_as_before(argument, jit, expected):
    environment = os.environ | {"RUSHLIGHT_JIT": jit, "RUSHLIGHT_CACHE": "0"}  # with code on disk LLVM is not loaded
    command = [sys.executable, "-W", "error", "-c", SCRIPT, argument]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert (out.stdout.strip(), out.stderr) == (expected, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_goes_on(tmp_path):
    command = [sys.executable, "-c", SCRIPT, "fork"]
    for setting in ("0", str(tmp_path), str(tmp_path)):  # the last time code is on disk, and LLVM may not be loaded
        environment = os.environ | {"RUSHLIGHT_CACHE": setting}
        out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
        started, child, parent = out.stdout.splitlines()
        assert started.startswith("True") and (setting != "0" or started == "True True")
        assert child == parent


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-40, 3e38, -3e38, 1e-20, 1.0])


@pytest.mark.parametrize("name", CASES)
def test_nan_infinity_and_subnormal_numbers(name, monkeypatch, native_steps):
    def run():
        rs = np.random.RandomState(3)
        p = torch.from_numpy(rs.choice(SPECIAL, 500).astype("float32")).requires_grad_()
        optimizer = getattr(torch.optim, name)([p], lr=0.1)
        for _ in range(5):
            p.grad = torch.from_numpy(rs.choice(SPECIAL, 500).astype("float32"))
            optimizer.step()
        return [np.where(np.isnan(a), np.float32(np.nan), a) for a in snapshot([p], optimizer)]  # any nan is as good

    both(monkeypatch, run)
    assert native_steps[-1]


# ------------------------------------------------------------------------------------------- the quick variant

needs_avx512 = pytest.mark.skipif(
    "avx512f" not in engine.features(), reason="there is no quick variant without AVX-512"
)


def tensors_of(params, optimizer):
    state = [v for s in optimizer.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
    return [p.detach() for p in params] + state


def quick_beside_exact(monkeypatch, name, options, params, gradients, steps=STEPS):
    """Before and after each step: the arrays before, after an exact and after a quick step from there."""
    twin = [p.detach().clone().requires_grad_() for p in params]
    sides = [(params, False), (twin, True)]
    optimizers = [getattr(torch.optim, name)(p, lr=0.1, **options) for p, _ in sides]
    for step in range(steps):
        if step:
            pairs = zip(*(tensors_of(p, o) for (p, _), o in zip(sides, optimizers, strict=True)), strict=True)
            for exact, quick in pairs:
                quick.numpy()[...] = exact.numpy()
        before = snapshot(params, optimizers[0])
        for (own, is_quick), optimizer in zip(sides, optimizers, strict=True):
            monkeypatch.setattr(optimizer_step, "_quick", is_quick)
            for p, g in zip(own, gradients(step), strict=True):
                p.grad = torch.from_numpy(g)
            optimizer.step()
        if step:
            yield before, snapshot(params, optimizers[0]), snapshot(twin, optimizers[1])


def assert_close(before, exact, quick, params):
    """Parameters within two units in the last place and four of the step, which is of the learning rate's size."""
    for i, (old, a, b) in enumerate(zip(before, exact, quick, strict=True)):
        assert a.dtype == b.dtype == np.float32
        size = np.maximum(np.abs(old), np.abs(a))
        room = np.spacing(size) * 2 + (np.abs(a - old) + 0.1 if i < params else size) * 2**-21
        off = np.abs(a - b) > room
        assert not off.any(), (i, old[off], a[off], b[off], room[off])


@pytest.mark.parametrize(("name", "options"), TABLE, ids=[f"{name} {options}" for name, options in TABLE])
def test_quick_is_exact_to_rounding(name, options, monkeypatch, native_steps):
    params = parameters()
    draw = lambda step: [  # noqa: E731
        np.asarray(np.random.RandomState(100 + step).standard_normal(p.shape), "float32") for p in params
    ]
    for before, exact, quick in quick_beside_exact(monkeypatch, name, options, params, draw):
        assert_close(before, exact, quick, len(params))
    assert native_steps.count(True) >= 2 * (STEPS - 3)


def test_a_variance_that_vanishes_is_the_same(monkeypatch):
    """Equal gradients make RMSprop's mean square less squared mean 0, or less by a rounding: for the same elements."""
    gradient = np.random.RandomState(1).standard_normal(400).astype("float32")
    options = {"centered": True, "alpha": 0.5}
    steps = quick_beside_exact(
        monkeypatch, "RMSprop", options, parameters(shapes=[400]), lambda _: [gradient.copy()], 40
    )
    for _, exact, quick in steps:
        assert_same(quick[1:], exact[1:])
        np.testing.assert_array_equal(np.isnan(quick[0]), np.isnan(exact[0]))
    assert 0 < np.isnan(exact[0]).sum() < 400


@needs_avx512
@pytest.mark.parametrize("name", ["Adam", "RMSprop", "Adadelta"])
def test_the_quick_variant_is_in_use(name, monkeypatch, native_steps):
    draw = lambda step: [np.random.RandomState(step).standard_normal(2000).astype("float32")]  # noqa: E731
    steps = quick_beside_exact(monkeypatch, name, {}, parameters(shapes=[2000]), draw)
    assert any((e != q).any() for _, exact, quick in steps for e, q in zip(exact, quick, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_quick_steps_of_nan_infinity_and_subnormal_numbers(name, monkeypatch, native_steps):
    rs = np.random.RandomState(3)
    draws = [rs.choice(SPECIAL, 500).astype("float32") for _ in range(STEPS + 1)]
    params = [torch.from_numpy(draws[-1]).requires_grad_()]
    for before, exact, quick in quick_beside_exact(monkeypatch, name, {}, params, lambda step: [draws[step]]):
        for old, a, b in zip(before, exact, quick, strict=True):
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            np.testing.assert_array_equal(np.isinf(a), np.isinf(b))
            finite = np.isfinite(a)
            size = np.maximum(np.abs(a[finite]), np.nan_to_num(np.abs(old[finite]), posinf=0))
            # quick code takes subnormal numbers for zero; an update divides what is left of them by eps
            assert (np.abs(a[finite] - b[finite]) <= np.maximum(np.spacing(size) * 8, 1e-29)).all()
    assert native_steps.count(True) >= 2 * (STEPS - 3)


def flushed(x):
    """x with zeros, of the same sign, for subnormal numbers: what quick code computes with."""
    return np.where(np.abs(x) < np.finfo("float32").tiny, np.copysign(np.float32(0), x), x)


@needs_avx512
@pytest.mark.parametrize("name", ["Adam", "NAdam"])
def test_neighbours_and_threads_change_no_quick_result(name, monkeypatch):
    """Also where some lanes of a vector get the exact root."""
    rs = np.random.RandomState(5)
    values = np.where(rs.rand(60_000) < 0.01, rs.choice(SPECIAL, 60_000), rs.standard_normal(60_000)).astype("float32")

    def run(pieces):
        params = [torch.ones(len(v), requires_grad=True) for v in pieces]
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        for _ in range(5):
            for p, v in zip(params, pieces, strict=True):
                p.grad = torch.from_numpy(v.copy())
            optimizer.step()
        return np.concatenate([p.detach().numpy() for p in params])

    whole = run([values])
    np.testing.assert_array_equal(run(np.split(values, [1, 38, 10_007, 50_001])), whole)
    monkeypatch.setattr(native_update, "_PARALLEL", 1)
    monkeypatch.setattr(native_update, "_PER_THREAD", 1)
    np.testing.assert_array_equal(run([values]), whole)


def root(params, grads, *, lr):
    params[0].copy_(grads[0].sqrt())


def quotient(params, grads, *, lr):
    params[0].copy_(grads[0].div(lr))


def quick_result(update, x, lr):
    out = np.zeros_like(x)
    native = native_update.native_update(update, [[out], [x]], {"lr": lr}, quick=True)
    assert native.set_options({"lr": lr})
    return out, native.kernel.call(native.block.ctypes.data)


def units_apart(x, y):
    """How many float32 numbers are between: 0 for two nans."""
    steps = np.abs(x.view(np.int32).astype(np.int64) - y.view(np.int32))
    return np.where(np.isnan(x) & np.isnan(y), 0, steps)


def test_quick_roots_of_all_sizes():
    bits = np.random.RandomState(0).randint(0, 1 << 32, 1 << 20, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view("float32"), SPECIAL.astype("float32"), np.ldexp(np.float32(1), np.arange(-149, 128))])
    got, code = quick_result(root, x, 1.0)
    with np.errstate(invalid="ignore"):
        exact = np.sqrt(flushed(x))
    apart = units_apart(got, exact)
    usual = (x > 2.0**-100) & (x < 2.0**100)
    assert code == 0
    assert apart[usual].max() <= 1
    assert not apart[~usual].any()


@pytest.mark.parametrize("divisor", [0.1, 1 - 0.999**3, 3e-29, 7e29, -5.0])
def test_quick_quotients_by_a_number(divisor):
    x = np.random.RandomState(0).standard_normal(10_000).astype("float32")
    x[: len(SPECIAL)] = SPECIAL
    got, code = quick_result(quotient, x, divisor)
    with np.errstate(over="ignore"):
        exact = flushed(flushed(x) / np.float32(divisor))
    assert code == 0
    edge = np.abs(exact) <= np.finfo("float32").tiny  # rounded up to it, or flushed just below
    assert units_apart(got, exact)[~edge].max() <= 1
    assert (np.abs(got[edge]) <= np.finfo("float32").tiny).all()


@needs_avx512
@pytest.mark.parametrize("divisor", [0.0, 1e-40, 1e-31, 1e35, float("inf")])
def test_unusual_divisors_are_left_to_arrays(divisor):
    got, code = quick_result(quotient, np.ones(20, "float32"), divisor)
    assert code == NO_VALUE
    assert not got.any()


def test_root_quotients_are_divisions():
    """The product with a reciprocal that replaces a division by a root gives the division's bits."""
    rs = np.random.RandomState(0)
    squares = rs.randint(0, 0x7F800001, 1 << 18).astype(np.uint32).view(np.float32)
    divisors = rs.uniform(1e-6, 2, 200).astype(np.float32)
    for divisor in divisors:
        with np.errstate(all="ignore"):
            exact = np.sqrt(squares) / divisor
            product = (np.sqrt(squares).astype(np.float64) * (1 / np.float64(divisor))).astype(np.float32)
        np.testing.assert_array_equal(exact.view(np.uint32), product.view(np.uint32))


# ---------------------------------------------------------------------------------------------------- tracing


F4 = np.dtype("float32")
ARRAY, COUNTER = (F4, False), (F4, True)
ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0, "decoupled_weight_decay": False}
ADAM |= {"maximize": False, "differentiable": False}


def test_a_trace_names_what_it_depends_on():
    update = trace(over_lists(adam.Adam._rule), [ARRAY] * 4 + [None, COUNTER], ADAM)
    assert [role.counter for role in update.roles] == [False] * 4 + [True]
    assert list(update.options) == ["lr", "beta1", "beta2", "eps", "weight_decay"]
    assert update.written() == (0, 2, 3, 4)
    assert holds(update, ADAM | {"lr": 3, "eps": 0.5, "beta1": 0.8})
    assert not holds(update, ADAM | {"weight_decay": 0.1})
    assert not holds(update, ADAM | {"beta1": 0.2})
    condition, outcome = update.guards[0]
    assert evaluate(condition, {v: float(ADAM[name]) for name, v in update.options.items()}) == outcome


def test_a_branch_on_the_step_number_has_two_leaves():
    assert len(trace(over_lists(adam.Adam._rule), [ARRAY] * 4 + [None, COUNTER], ADAM).leaves()) == 1
    assert len(trace(over_lists(radam.RAdam._rule), [ARRAY] * 4 + [COUNTER], ADAM).leaves()) == 2


def reads_an_element(params, grads, *, lr):
    params[0].add_(grads[0], alpha=-lr * grads[0].item())


def branches_without_end(params, grads, steps, *, lr):
    while steps[0].item() < 5:
        steps[0] += 1


def mutates_the_list(params, grads, *, lr):
    params[0] = -grads[0]


def calls_what_is_unknown(params, grads, *, lr):
    params[0].add_(grads[0].cumsum(0), alpha=-lr)


@pytest.mark.parametrize("update", [reads_an_element, branches_without_end, mutates_the_list, calls_what_is_unknown])
def test_what_expressions_cannot_say_is_refused(update):
    kinds = [ARRAY, ARRAY, COUNTER] if update is branches_without_end else [ARRAY, ARRAY]
    with pytest.raises(NotTraceable):
        trace(update, kinds, {"lr": 0.1})


def test_native_update_for_compiled_steps():
    rs = np.random.RandomState(0)
    arrays = [[np.asarray(rs.standard_normal(n), "float32") for n in (5, 40)] for _ in range(3)]
    options = {"lr": 0.1, "momentum": 0.9, "dampening": 0, "weight_decay": 0.0, "nesterov": False, "maximize": False}
    native = native_update.native_update(over_lists(sgd.SGD._rule), arrays, options)
    expected = [[a.copy() for a in row] for row in arrays]
    for lr, _ in itertools.product((0.1, 0.2), range(2)):
        options["lr"] = lr
        assert native.accepts(options) and native.set_options(options)
        assert native.kernel.call(native.block.ctypes.data) == 0
        dense._apply(over_lists(sgd.SGD._rule), expected, options)
    assert_same([*itertools.chain(*arrays)], [*itertools.chain(*expected)])
    assert not native.accepts(options | {"weight_decay": 0.5})
    assert native.set_options(options | {"weight_decay": 0.5})
    assert native.kernel.call(native.block.ctypes.data) == 1
    assert_same([*itertools.chain(*arrays)], [*itertools.chain(*expected)])


@pytest.mark.parametrize("stepped", [slice(None), slice(1, 2)])
def test_compiled_steps_of_parts_of_one_tensor(stepped):
    def losses(compiled):
        flat = torch.linspace(-1, 1, 12)
        params = [nn.Parameter(torch.empty(4)) for _ in range(3)]
        nn.utils.vector_to_parameters(flat, params)
        optimizer = torch.optim.SGD(params[stepped], lr=0.1, momentum=0.9)

        def step():
            optimizer.zero_grad()
            (params[0] * params[1] * params[2] - 1).square().sum().backward()
            optimizer.step()
            return flat.square().sum()

        f = torch.compile(step) if compiled else step
        return [*(f().item() for _ in range(STEPS)), *flat.tolist()]

    np.testing.assert_allclose(losses(True), losses(False), rtol=1e-5)


def test_a_part_of_one_tensor_becomes_a_part_of_another():
    first, second = torch.arange(6.0), torch.full((6,), 2.0)
    part = nn.Parameter(torch.empty(2))
    part.data = first[2:4]
    f = torch.compile(lambda: (part.detach().sum() + first.sum()).item())
    assert [f() for _ in range(4)] == [20.0] * 4
    part.data = second[2:4]
    assert [f() for _ in range(4)] == [19.0] * 4
    part.data = first[4:6]
    assert [f() for _ in range(4)] == [24.0] * 4


def test_a_part_of_an_argument_stays_what_it_is():
    whole = torch.arange(4.0)
    part = whole[:2]
    f = torch.compile(lambda x: (x.sum() + 10 * part.sum()).item())
    with pytest.warns(UserWarning, match="shares memory with an argument"):
        assert [f(whole) for _ in range(4)] == [16.0] * 4
    assert f(torch.ones(4)) == 14


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_the_log_names_updates(monkeypatch, capsys, optimizer):
    monkeypatch.setenv("RUSHLIGHT_LOG", "kernels")
    net = torch.nn.Linear(2, 1)
    updates = getattr(torch.optim, optimizer)(net.parameters(), lr=0.1)

    def step(x):
        updates.zero_grad()
        net(x).sum().backward()
        updates.step()

    step = torch.compile(step)
    for _ in range(5):
        step(torch.ones(1, 2))
    assert f"update {optimizer}" in capsys.readouterr().err
