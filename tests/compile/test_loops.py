"""Native loops of eager kernels over large arrays: the same bits as the kernels' own NumPy, and only where they fit."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.jit import loops
from rushlight.ops.pointwise.fused_loops import FUSED_LOOPS, LARGE

SIZE = LARGE + 37
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-40, 3e38, -3e38, 1e-20, 1.0]
# name -> f(x, y, z); w is between -1 and 1
CASES = {
    "add": lambda x, y, z, w: torch.add(x, y, alpha=0.3),
    "sub": lambda x, y, z, w: torch.sub(x, y, alpha=-2.7),
    "add by a power of two": lambda x, y, z, w: torch.add(x, y, alpha=4.0),
    "add of one": lambda x, y, z, w: torch.add(x, x, alpha=0.1),
    "add_": lambda x, y, z, w: x.clone().add_(y, alpha=0.1),
    "add_ to itself": lambda x, y, z, w: (c := x.clone()).add_(c, alpha=0.1),
    "lerp": lambda x, y, z, w: torch.lerp(x, y, 0.1),
    "lerp far": lambda x, y, z, w: torch.lerp(x, y, 0.7),
    "lerp to a limit": lambda x, y, z, w: torch.lerp(x, y, float("inf")),
    "lerp_": lambda x, y, z, w: x.clone().lerp_(y, 0.3),
    "lerp_ far": lambda x, y, z, w: x.clone().lerp_(y, 0.5),
    "lerp by a tensor": lambda x, y, z, w: torch.lerp(x, y, w),
    "addcmul": lambda x, y, z, w: torch.addcmul(x, y, z),
    "addcmul of a value": lambda x, y, z, w: torch.addcmul(x, y, z, value=-0.1),
    "addcmul_": lambda x, y, z, w: x.clone().addcmul_(y, z, value=0.7),
    "addcmul_ of itself": lambda x, y, z, w: (c := x.clone()).addcmul_(c, c, value=0.7),
    "addcdiv": lambda x, y, z, w: torch.addcdiv(x, y, z),
    "addcdiv of a value": lambda x, y, z, w: torch.addcdiv(x, y, z, value=-0.1),
    "addcdiv_": lambda x, y, z, w: x.clone().addcdiv_(y, z, value=3),
    "sign": lambda x, y, z, w: torch.sign(x),
    "sgn": lambda x, y, z, w: torch.sgn(x),
    "fill_": lambda x, y, z, w: x.repeat(20).fill_(-0.1),
    "zero_": lambda x, y, z, w: x.repeat(20).zero_(),
}
BITS = {"float32": np.int32, "float64": np.int64}


def tensors(kind, special=False):
    rs = np.random.RandomState(5)
    arrays = [rs.standard_normal(SIZE) * 3 for _ in range(3)] + [rs.uniform(-1, 1, SIZE)]
    if special:
        rows = np.meshgrid(*[SPECIAL] * 3)
        for a, row in zip(arrays, rows):
            a[: row.size] = row.ravel()
    return [torch.from_numpy(a.astype(kind)) for a in arrays]


@pytest.fixture
def at_once(monkeypatch):
    """Loops are made at the first call; gives those that were made."""
    monkeypatch.setattr(loops, "_WORTHWHILE", 0)
    loops._route.forget()
    yield loops._state.programs
    loops._route.forget()


def without_loops(monkeypatch, run):
    with monkeypatch.context() as m:
        for loop in FUSED_LOOPS.values():
            m.setattr(loop, "kernel", loop.reference)
        return run()


def same_bits(a, b):
    a, b = a.numpy(), b.numpy()
    bits = BITS[a.dtype.name]
    return bool(((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))).all())


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("name", CASES)
def test_a_loop_gives_the_bits_of_its_kernel(name, kind, special, at_once, monkeypatch):
    pytest.importorskip("llvmlite")
    arguments = tensors(kind, special)
    if (
        kind == "float64" and special
    ):  # where halves overflow, the kernel rounds twice: see ops/pointwise/multiply_add.py
        arguments = [torch.from_numpy(np.clip(t.numpy(), -1e290, 1e290)) for t in arguments]
    got = [CASES[name](*arguments) for _ in range(2)]
    expected = without_loops(monkeypatch, lambda: CASES[name](*arguments))
    assert same_bits(got[0], expected) and same_bits(got[1], expected)
    assert bool(at_once) == ("itself" not in name)


def refused(name):
    x, y, z, _ = tensors("float32")
    pair = torch.stack([x, y])
    return {
        "a row for all": lambda: torch.add(pair, x, alpha=0.3),
        "columns": lambda: torch.add(pair.t(), pair.t(), alpha=0.3),
        "of two types": lambda: torch.add(x, y.double(), alpha=0.3),
        "integers": lambda: torch.addcmul(*[t.int() for t in (x, y, z)], value=2),
        "sixteen bits": lambda: torch.sgn(x.half()),
        "memory that overlaps": lambda: (c := x.clone())[1:].add_(c[:-1].clone(), alpha=0.1) + c[1:].lerp_(c[1:], 0.3),
    }[name]


@pytest.mark.parametrize(
    "name", ["a row for all", "columns", "of two types", "integers", "sixteen bits", "memory that overlaps"]
)
def test_other_operands_take_the_kernel(name, at_once, monkeypatch):
    run = refused(name)
    expected = without_loops(monkeypatch, run)
    np.testing.assert_array_equal(run().numpy(), expected.numpy())


def test_what_cannot_be_written_is_not(at_once):
    x, y, _, _ = tensors("float32")
    x._array.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x.add_(y, alpha=0.3)


def test_the_same_tables_serve_new_arrays_and_numbers(at_once):
    pytest.importorskip("llvmlite")
    x, y, z, _ = tensors("float64")
    for a, b, alpha in [(x, y, 0.3), (y, z, 0.3), (z, x, -1.7)]:
        np.testing.assert_allclose(
            torch.add(a, b, alpha=alpha).numpy(), a.numpy() + alpha * b.numpy(), rtol=1e-12, atol=1e-12
        )
    assert len(at_once) == 1


def test_gradients_pass_a_loop(at_once):
    x, y, z, _ = (t.requires_grad_() for t in tensors("float32"))
    torch.addcmul(x, y, z, value=0.5).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), z.detach().numpy() * np.float32(0.5))


SCRIPT = """
import sys
if "no-llvmlite" in sys.argv:
    sys.modules["llvmlite"] = None
import rushlight as torch
from rushlight.compile import loops
loops._WORTHWHILE = 40_000
x, y = torch.rand(30_000), torch.rand(30_000)
first = torch.add(x, y, alpha=0.3)
print(bool(loops._state.programs), bool(sys.modules.get("llvmlite")), end=" ")
again = torch.add(x, y, alpha=0.3)
print(bool(loops._state.programs), bool(sys.modules.get("llvmlite")), bool((first == again).all()))
"""


@pytest.mark.parametrize(
    ("argument", "jit", "expected"),
    [
        ("", "1", "False False True True True"),
        ("", "0", "False False False False True"),
        ("no-llvmlite", "1", "False False False False True"),
    ],
)
def test_the_compiler_is_loaded_when_it_is_worth_it(argument, jit, expected):
    if not argument:
        pytest.importorskip("llvmlite")
    command = [sys.executable, "-W", "error", "-c", SCRIPT, argument]
    environment = os.environ | {"RUSHLIGHT_JIT": jit, "RUSHLIGHT_CACHE": "0"}  # with code on disk LLVM is not loaded
    out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert (out.stdout.strip(), out.stderr) == (expected, "")
