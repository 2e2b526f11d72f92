"""RUSHLIGHT_ISA limits generated code and oneDNN, and nothing that it names is used beyond what the processor has."""

import os
import re
import subprocess
import sys

import pytest

from rushlight.backend import isa, onednn
from rushlight.compile.lower.llvm import engine
from rushlight.torch.utils.collect_env import print_environment

NAMES = [level.name for level in isa.LEVELS]
CAPS = NAMES[:-1]
REACHED = CAPS[: NAMES.index(isa.effective()) + 1] if isa.effective() in NAMES else []
compiles = pytest.mark.skipif(not engine.available(), reason="no generated code here")
with_onednn = pytest.mark.skipif(not onednn.available(), reason=onednn.reason_unavailable() or "oneDNN")


def python(program, check=True, **environment):
    """What a program prints in a process with more in its environment."""
    kept = {k: v for k, v in os.environ.items() if k not in ("RUSHLIGHT_ISA", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**kept, **environment}, capture_output=True, text=True, check=check
    )
    return done.stdout if check else done.stderr


def test_values():
    assert isa.cap_of(None) is None and isa.cap_of("") is None and isa.cap_of("amx") is None
    assert [isa.cap_of(name).name for name in CAPS] == CAPS
    for wrong in ("AVX2", "avx", "avx512 ", "0"):
        with pytest.raises(ValueError, match=f"RUSHLIGHT_ISA={wrong!r}.*sse41, avx2, avx512, amx"):
            isa.cap_of(wrong)


def test_a_wrong_value_stops_the_import():
    error = python("import rushlight", check=False, RUSHLIGHT_ISA="avx3").splitlines()[-1]
    assert error.startswith("ValueError: RUSHLIGHT_ISA='avx3'") and "sse41, avx2, avx512, amx" in error


@pytest.mark.parametrize("name", [None, *NAMES])
def test_a_cap_never_adds(monkeypatch, name):
    """On an AVX2 processor: no level makes more of it, and each lower one takes its features away."""
    monkeypatch.setattr(isa, "_cap", isa.cap_of(name))
    monkeypatch.setattr(
        isa, "_flags", lambda: frozenset(("sse4_1", "sse4_2", "ssse3", "popcnt", "avx2", "fma", "f16c"))
    )
    monkeypatch.setattr(isa, "of_processor", isa.of_processor.__wrapped__)
    assert isa.effective() == ("sse41" if name == "sse41" else "avx2")
    has = {"sse4.1", "sse2", "avx2", "fma", "f16c"}
    assert isa.permitted(has) == (has - {"avx2", "fma", "f16c"} if name == "sse41" else has)


def test_a_processor_of_before_has_no_level(monkeypatch):
    monkeypatch.setattr(isa, "_flags", lambda: frozenset(("sse2", "avx2")))
    monkeypatch.setattr(isa, "of_processor", isa.of_processor.__wrapped__)
    assert isa.of_processor() == isa.effective() == "none"


def test_arm_has_one_level(monkeypatch):
    monkeypatch.setattr(isa, "_machine", lambda: "aarch64")
    monkeypatch.setattr(isa, "of_processor", isa.of_processor.__wrapped__)
    monkeypatch.setattr(isa, "_cap", None)
    assert isa.is_arm() and isa.of_processor() == isa.effective() == "neon"
    assert isa.cap_of("neon") is None and isa.cap_of("") is None
    assert engine.fuses() and engine.converts_half()
    with pytest.raises(ValueError, match=r"RUSHLIGHT_ISA='avx2'.*on aarch64 it must be neon"):
        isa.cap_of("avx2")


@with_onednn
@pytest.mark.parametrize("name", NAMES)
def test_onednn_is_limited(name):
    asked = "from rushlight.backend.onednn.library import load; print(load().dnnl_get_effective_cpu_isa())"
    without, limit = int(python(asked)), isa.LEVELS[NAMES.index(name)].onednn
    capped = int(python(asked, RUSHLIGHT_ISA=name))
    assert capped == (
        without & limit if limit else without
    )  # oneDNN's numbers are sets of bits, each level has its own
    assert int(python(asked, RUSHLIGHT_ISA=name, ONEDNN_MAX_CPU_ISA="SSE41")) == 1  # what the user says of oneDNN stays


@with_onednn
def test_onednn_in_use_already_is_not_used():
    """Somebody else in the process has made primitives: a cap could not be kept."""
    program = f"""
import ctypes
ctypes.CDLL({onednn.library.load()._name!r}).dnnl_get_effective_cpu_isa()
from rushlight.backend import onednn
print(onednn.available(), onednn.reason_unavailable())
"""
    assert python(program, RUSHLIGHT_ISA="sse41").startswith(
        "False oneDNN is in use in this process already: RUSHLIGHT_ISA=sse41"
    )
    assert python(program, RUSHLIGHT_ISA="amx").startswith("True")


MAKE_CODE = """
import re, warnings
from llvmlite import binding
from rushlight.compile.lower.llvm import engine
texts = []
def build(assembly, optimise=True, made=engine.build):
    code = made(assembly, optimise)
    module = binding.parse_assembly(assembly, binding.create_context())
    if optimise:
        engine._optimise(module, engine._jit().machine)
    texts.append(engine._jit().machine.emit_assembly(module))
    return code
engine.build = build
import rushlight.compile.lower.update as update
update.build = build
import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
warnings.simplefilter("error")
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.GELU(), nn.Flatten(), nn.Linear(32 * 64, 9))
optimizer = torch.optim.Adam(net.parameters())
x, h = torch.randn(16, 32, 8, 8), torch.randn(300).half()
def step():
    optimizer.zero_grad()
    y = net(F.dropout(x, 0.1))
    loss = F.log_softmax(y, 1).logsumexp(0).sum() + (h * h).tanh().sum().float() + y.double().sigmoid().exp().sum()
    loss.backward()
    optimizer.step()
    return loss
step = torch.compile(step)
for _ in range(4):
    step()
print("\\n".join(texts))
"""
INSTRUCTION = re.compile(r"^\t([a-z][a-z0-9.]*)(.*)$", re.M)


@compiles
@with_onednn
@pytest.mark.parametrize("name", REACHED)
def test_generated_code_keeps_to_it(name):
    """A step with a convolution, a product, elementary functions, float16, draws and an update, as assembly."""
    instructions = [(m[1], m[2].partition("#")[0]) for m in INSTRUCTION.finditer(python(MAKE_CODE, RUSHLIGHT_ISA=name))]
    assert len(instructions) > 2000
    names, operands = {n for n, _ in instructions}, "\n".join(o for _, o in instructions)
    vectors = {"sse41": "xmm", "avx2": "ymm", "avx512": "zmm"}[name]
    assert f"%{vectors}" in operands  # the widest there are
    wider = {"sse41": ("%ymm", "%zmm", "%k1"), "avx2": ("%zmm", "%k1"), "avx512": ("%tmm",)}[name]
    assert not [w for w in wider if w in operands]
    if name == "sse41":  # all that came with AVX begins so; the others came with FMA's neighbours
        later = {
            "andn",
            "andnl",
            "andnq",
            "bextr",
            "blsr",
            "lzcntl",
            "lzcntq",
            "movbe",
            "rorx",
            "sarxl",
            "shlxl",
            "shrxl",
        }
        assert not [n for n in names if n.startswith("v")] and not names & later


HALVES = """
import numpy as np
from rushlight.compile.ir.expression import cast
from native import map_native
halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
wide = halves.astype(np.float32)
(found,) = map_native([lambda x: cast(x, np.dtype("f4"))], halves)
assert ((found.view("u4") == wide.view("u4")) | (np.isnan(wide) & np.isnan(found))).all()
middle = ((wide[:-1].astype("f8") + wide[1:]) / 2).astype("f4")
bits = np.random.default_rng(0).integers(0, 1 << 32, 300_000, dtype=np.uint32)
single = np.concatenate([f(a) for a in (wide, middle) for f in (np.copy, lambda a: np.nextafter(a, np.float32(9)), lambda a: np.nextafter(a, np.float32(-9)))])
single = np.concatenate([single, bits.view("f4")])
(found,) = map_native([lambda x: cast(x, np.dtype("f2"))], single)
expected = single.astype("f2")
assert ((found.view("u2") == expected.view("u2")) | (np.isnan(expected) & np.isnan(found))).all()
print(found.size)
"""


@compiles
@pytest.mark.parametrize("name", REACHED)
def test_float16_has_the_same_bits_by_integer_arithmetic(name):
    """All 65,536 numbers to float32; to float16 their neighbours, the middles between two, and random bits."""
    from pathlib import Path

    path = os.pathsep.join([str(Path(__file__).parents[1] / "compile"), *sys.path])
    assert int(
        python(f"import warnings; warnings.simplefilter('ignore')\n{HALVES}", RUSHLIGHT_ISA=name, PYTHONPATH=path)
    )


def test_what_the_command_says(monkeypatch, capsys):
    def line():
        print_environment()
        return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("instruction set"))

    monkeypatch.setattr(isa, "of_processor", lambda: "avx512")
    monkeypatch.setattr(isa, "_cap", None)
    assert line().split(maxsplit=2)[2] == "avx512"
    monkeypatch.setattr(isa, "_cap", isa.cap_of("avx2"))
    assert line().split(maxsplit=2)[2] == "avx2 (RUSHLIGHT_ISA=avx2; the processor has avx512)"
    monkeypatch.setattr(isa, "of_processor", lambda: "sse41")
    assert line().split(maxsplit=2)[2] == "sse41 (RUSHLIGHT_ISA=avx2; the processor has sse41)"
