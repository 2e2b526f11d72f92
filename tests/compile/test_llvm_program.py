"""Programs of many steps: places, order, statuses, sharing of compiled kernels, threads, the check build."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native import address

from rushlight.backend.onednn import library
from rushlight.compile.ir.expression import apply, const, load
from rushlight.compile.ir.graph import Loop, Nest, Reduce, Ref, Store, Value
from rushlight.compile.lower.llvm import engine, program
from rushlight.compile.lower.llvm.program import Program, StepError, compile_kernels, structure

F32 = np.dtype(np.float32)


def scaled(n, by, dtype=F32):
    """y = by x, as (node, x, y)."""
    x, y = Value((n,), dtype), Value((n,), dtype)
    return Loop((n,), [Store(y.ref(), apply("mul", load(x.ref()), const(by, dtype)))]), x, y


def test_places():
    """Table (with and without an offset), arena and fixed addresses; the table may change from run to run."""
    arena = np.zeros(64, np.float32)
    steps = Program(arena.ctypes.data)
    first, x, y = scaled(8, 2)
    steps.launch(first, {x: ("table", 1), y: ("arena", 64)})
    second, x, y = scaled(8, 3)
    out = np.zeros(8, np.float32)
    steps.launch(second, {x: ("arena", 64), y: address(out)})
    third, x, y = scaled(8, 1)
    steps.launch(third, {x: ("arena", 64), y: ("table", 0, 32)})
    run = steps.finish()
    for seed in range(3):
        source, target = np.random.default_rng(seed).normal(size=8).astype(np.float32), np.zeros(16, np.float32)
        table = np.array([target.ctypes.data, source.ctypes.data])
        assert run.run(table.ctypes.data) == 0
        np.testing.assert_array_equal(out, source * 2 * 3)
        np.testing.assert_array_equal(target[8:], source * 2)
        np.testing.assert_array_equal(target[:8], 0)


def test_unknown_place():
    steps = Program()
    node, x, y = scaled(8, 2)
    steps.launch(node, {x: ("stack", 1), y: ("arena", 0)})
    with pytest.raises(ValueError, match="a place is"):
        steps.finish()


@pytest.mark.parametrize("n", [1, 1000, 70_000, 100_001])
def test_copy_and_fill(n):
    a, b = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    c = np.zeros(n, np.int16)
    steps = Program()
    steps.copy(address(b), address(a), 4 * n)
    steps.fill(address(c), n, -3, np.int16)
    steps.copy(address(b), address(b), 0)
    steps.finish()()
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(c, -3)


def test_empty_program_and_empty_nests():
    assert Program().finish().run() == 0
    steps = Program()
    node, x, y = scaled(0, 2)
    steps.launch(node, {x: ("arena", 0), y: ("arena", 0)})
    assert len(steps) == 0


def test_calls_and_their_status():
    seen = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    def native(a, b):
        seen.append((a, b))
        return 7 if a == 99 else 0

    where = ctypes.cast(native, ctypes.c_void_p).value
    steps = Program(1000)
    steps.call(where, 99, ("table", 0))
    steps.call(where, 99, ("arena", 24), name="the second", status=True)
    steps.call(where, 1, 2)
    run = steps.finish()
    table = np.array([-12345])
    status = run.run(table.ctypes.data)
    assert seen == [(99, -12345), (99, 1024)]  # the step after a failure does not run
    assert run.describe(status) == "step 1 (the second) returned 7"
    assert run.describe(0) == "success"
    with pytest.raises(StepError, match="the second"):
        run(table.ctypes.data)
    with pytest.raises(ValueError, match="at most 16"):
        steps.call(where, *range(17))


def test_thousands_of_steps_compile_once():
    """One structure, many places: one kernel."""
    n, count = 10, 3000
    memory = np.zeros((count + 1, n), np.float32)
    memory[0] = 1
    steps = Program(memory.ctypes.data)
    for i in range(count):
        node, x, y = scaled(n, -1)
        steps.launch(node, {x: ("arena", 40 * i), y: ("arena", 40 * (i + 1))})
    steps.finish()()
    np.testing.assert_array_equal(memory[-1], 1)


def test_structure_ignores_identity_only():
    same = [compile_kernels([scaled(9, 2)[0]])[0].address for _ in range(2)]
    assert same[0] == same[1]
    others = [scaled(9, 2)[0], scaled(9, 3)[0], scaled(10, 2)[0], scaled(9, 2, np.dtype(np.float64))[0]]
    x, y = Value((9, 9), F32), Value((9, 9), F32)
    others += [Loop((9, 9), [Store(y.ref(), load(r))]) for r in (x.ref(), x.ref().permute((1, 0)))]
    others.append(Loop((9, 9), [Store(y.ref(), load(Ref(x, (9, 9), (9, 0), 3)))]))
    assert len({structure(node) for node in others}) == len(others)


def test_which_values_are_equal_matters():
    """x + x and x + y are not one kernel; nor are a nest's local value and one that is stored."""
    x, y, z = (Value((5,), F32) for _ in range(3))
    a = Loop((5,), [Store(z.ref(), apply("add", load(x.ref()), load(x.ref())))])
    b = Loop((5,), [Store(z.ref(), apply("add", load(x.ref()), load(y.ref())))])
    assert structure(a) != structure(b)
    stages = [
        Loop((5,), [Store(y.ref(), apply("neg", load(x.ref())))]),
        Loop((5,), [Store(z.ref(), apply("exp", load(y.ref())))]),
    ]
    assert structure(Nest((5,), (), stages, {y})) != structure(Nest((5,), (), stages, set()))


def test_primitive_execute_reports_its_status():
    if not library.available():
        pytest.skip("oneDNN is not here")
    steps = Program()
    steps.execute(0, 0, 0, 0, name="no primitive")
    run = steps.finish()
    assert "no primitive) returned 2" in run.describe(run.run())  # dnnl_invalid_arguments


def test_unsupported_type_is_named():
    x = Value((3,), np.complex64)
    steps = Program()
    steps.launch(Loop((3,), [Store(Value((3,), np.complex64).ref(), load(x.ref()))]), lambda v: ("arena", 0))
    with pytest.raises(NotImplementedError, match="complex64"):
        steps.finish()


def test_code_outlives_its_module_and_knows_its_names():
    code = engine.build("define i32 @seven() { ret i32 7 }")
    assert ctypes.CFUNCTYPE(ctypes.c_int)(code.address("seven"))() == 7
    with pytest.raises(KeyError, match="eight"):
        code.address("eight")
    with pytest.raises(RuntimeError, match="expected"):
        engine.build("define nonsense")


# ---------------------------------------------------------------------------------------- check build


def stray(write: bool):
    """A loop whose load (or store) reaches one element too far, as (node, x, y)."""
    x, y = Value((20,), F32, name="x"), Value((20,), F32, name="y")
    far = Ref(y if write else x, (20,), (1,), 1)
    store = Store(far if write else y.ref(), load(x.ref() if write else far))
    return Loop((20,), [store]), x, y


@pytest.mark.parametrize("write", [False, True], ids=["load", "store"])
def test_check_build_names_kernel_and_value(write):
    node, x, y = stray(write)
    a, b = np.zeros(32, np.float32), np.zeros(32, np.float32)  # more room than the values say
    steps = Program(check=True)
    steps.launch(node, {x: address(a), y: address(b)}, "the stray kernel")
    run = steps.finish()
    status = run.run()
    assert status
    assert "the stray kernel" in run.describe(status) and (":y" if write else ":x") in run.describe(status)
    assert "the stray kernel" in run.describe(run.run())  # and again: the status does not stay set or unset
    with pytest.raises(StepError, match="an access outside"):
        run()
    plain = Program(check=False)
    plain.launch(node, {x: address(a), y: address(b)})
    assert plain.finish().run() == 0


def test_check_build_finds_a_stray_gap_and_a_stray_reduction():
    x, y = Value((4, 5), F32, name="x"), Value((4,), F32)
    room = np.zeros(400, np.float32)
    for strides in ((6, 1), (5, 3), (40, 0)):
        node = Reduce((4, 5), (1,), "sum", load(Ref(x, (4, 5), strides, 0)), y)
        steps = Program(check=True)
        steps.launch(node, {x: address(room), y: address(room)})
        run = steps.finish()
        assert ":x" in run.describe(run.run())


def test_environment_turns_the_check_build_on(monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    assert Program().check
    monkeypatch.setenv("RUSHLIGHT_CHECK", "0")
    assert not Program().check


# ---------------------------------------------------------------------------------------- threads

_SUM = """
import ctypes, sys
import numpy as np
from rushlight.backend.onednn import library
from rushlight.compile.ir.expression import apply, load
from rushlight.compile.ir.graph import Loop, Reduce, Store, Value
from rushlight.compile.lower.llvm.program import Program

library.load().omp_set_num_threads(int(sys.argv[1]))
n = 300_001
a, b = np.linspace(0, 1, n, dtype=np.float32), np.zeros(n, np.float32)
total, x, y = np.zeros(1, np.float32), Value((n,), np.float32), Value((n,), np.float32)
s = Value((), np.float32)
steps = Program(check=False)
steps.launch(Loop((n,), [Store(y.ref(), apply("exp", load(x.ref())))]), {x: ("address", a.ctypes.data), y: ("address", b.ctypes.data)})
steps.launch(Reduce((n,), (0,), "sum", load(y.ref()), s), {y: ("address", b.ctypes.data), s: ("address", total.ctypes.data)})
run = steps.finish()
for _ in range(20):
    b[:] = 0
    run()
    np.testing.assert_allclose(b, np.exp(a), rtol=1e-6)
print(total.tobytes().hex())
"""


def test_any_number_of_threads_gives_the_same_numbers():
    """Parts of a reduction do not depend on how many threads work on them."""
    if not library.available():
        pytest.skip("oneDNN's thread pool is not here")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    seen = {
        subprocess.run(
            [sys.executable, "-c", _SUM, str(k)], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for k in (1, 2, 3, 5)
    }
    assert len(seen) == 1


def test_import_loads_nothing():
    code = "import sys, rushlight.compile.lower.llvm.program; print('llvmlite' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_the_pool_everything_runs_on_one_thread(monkeypatch):
    monkeypatch.setattr(program.parallel, "pool", lambda: False)
    program._fixed.cache_clear()
    node, x, y = scaled(500_000, 3)
    a, b = np.ones(500_000, np.float32), np.zeros(500_000, np.float32)
    steps = Program()
    steps.launch(node, {x: address(a), y: address(b)})
    with pytest.raises(RuntimeError, match="oneDNN is not available"):
        steps.execute(0, 0, 0, 0)
    steps.finish()()
    program._fixed.cache_clear()
    np.testing.assert_array_equal(b, 3)
