"""Code from the cache without LLVM: what a second process loads, the processor's record, and what is left to LLVM's linker."""

import ctypes
import gc
import json
import os
import platform
import subprocess
import sys

import pytest

from rushlight.compile.lower.disk import code_cache, host, object_file
from rushlight.compile.lower.llvm import engine

_HERE = sys.platform == "linux" and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(not (_HERE and engine.available()), reason="needs llvmlite, under Linux on x86-64")

TEXT = """
@count = global i64 5
@fives = private constant [3 x i64] [i64 5, i64 10, i64 15]
declare double @cos(double)
declare i64 @the_symbol(i64)
define i64 @next() #0 {
  %old = load i64, ptr @count
  %place = getelementptr i64, ptr @fives, i64 1
  %step = load i64, ptr %place
  %new = add i64 %old, %step
  store i64 %new, ptr @count
  ret i64 %new
}
define double @of_three() #0 {
  %x = call double @cos(double 3.0)
  %y = fmul double %x, 3.140625
  ret double %y
}
define i64 @twice(i64 %x) #0 {
  %a = call i64 @the_symbol(i64 %x)
  %b = call i64 @the_symbol(i64 %a)
  ret i64 %b
}
"""
_NAMES = ["next", "of_three", "twice"]


@pytest.fixture
def image():
    from llvmlite import binding

    return engine._compiled(binding, TEXT + engine.attributes(), True).image


@pytest.fixture
def symbol():
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: 3 * x + 1)
    engine.register("the_symbol", ctypes.cast(function, ctypes.c_void_p).value)
    yield function
    engine._symbols.pop("the_symbol")


def test_linked_code(image, symbol):
    """Functions, constants, variables, libm's functions, and what was registered."""
    one, two = (object_file.link(image, _NAMES, engine._address_of) for _ in range(2))
    call = lambda code, name, kind=ctypes.c_int64: ctypes.CFUNCTYPE(kind)(code[name])()  # noqa: E731
    assert [call(one, "next"), call(one, "next"), call(two, "next")] == [15, 25, 15]
    assert call(one, "of_three", ctypes.c_double) == pytest.approx(-0.98999249660044542 * 3.140625, rel=1e-15)
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(one["twice"])(2) == 22


def test_memory_is_given_back(image, symbol):
    def mappings() -> int:
        gc.collect()
        with open("/proc/self/maps") as file:
            return len(file.readlines())

    kept = [object_file.link(image, _NAMES, engine._address_of) for _ in range(60)]
    before = mappings()
    kept.clear()
    assert mappings() <= before - 60
    with open("/proc/self/maps") as file:
        assert not [line for line in file if "rwx" in line and ".so" not in line and "llvm" in line]


def test_what_is_left_to_llvm(image):
    assert object_file.link(image, _NAMES, lambda name: None) is None  # a symbol that nothing has
    assert object_file.link(image, ["other"], lambda name: 1) is None
    assert object_file.link(b"\xcf\xfa\xed\xfe" + image[4:], _NAMES, lambda name: 1) is None  # another system's
    relative = bytearray(image)
    sections = list(object_file._sections(image))
    for s in sections:
        if s.kind == object_file._ADDENDS:
            relative[s.offset + 8] = 2  # a relocation of another kind
    assert object_file.link(bytes(relative), _NAMES, lambda name: 1) is None


SCRIPT = """
import sys
import rushlight as torch
torch.manual_seed(0)
torch.set_num_threads(2)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36 * 36, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
@torch.compile
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x).cos(), y)
    loss.backward()
    optimizer.step()
    return loss
print([step(torch.randn(8, 3, 38, 38), torch.arange(8)).item() for _ in range(6)])
print("llvmlite" in sys.modules)
"""


def _run(folder, **settings):
    environment = {**os.environ, "RUSHLIGHT_CACHE": str(folder), **settings}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_a_second_process_does_not_load_llvm(tmp_path):
    first, second = _run(tmp_path / "c"), _run(tmp_path / "c")
    assert first[0] == second[0] and first[1] == "True"
    assert second[1] == "False"
    (record,) = (tmp_path / "c").glob("*.host")
    record.write_bytes(record.read_bytes()[:-3])  # damaged: LLVM is asked again
    assert _run(tmp_path / "c") == [first[0], "True"]
    assert _run(tmp_path / "c") == second
    for file in (tmp_path / "c").glob("*.o"):  # what was compiled is gone
        file.unlink()
    assert _run(tmp_path / "c") == first


def test_the_record_says_what_llvm_says():
    assert host._asked() == host.host()


def test_another_library_or_processor_has_another_record(monkeypatch, tmp_path):
    key = host._key()
    assert key == host._key()
    monkeypatch.setattr(host, "_processor", lambda: ["linux", "x86_64", "", "flags : sse2"])
    assert host._key() != key
    monkeypatch.undo()
    other = tmp_path / "libllvmlite.so"
    other.write_bytes(b"another")
    monkeypatch.setattr(host, "_library", lambda: other)
    assert host._key() != key
    monkeypatch.setattr(host, "_library", lambda: None)
    assert host._key() is None and host.host.__wrapped__() is None


def test_records_are_read_as_they_were_written(monkeypatch, tmp_path):
    monkeypatch.setenv("RUSHLIGHT_CACHE", str(tmp_path / "cache"))
    known = host.host()
    assert host.host.__wrapped__() == known
    (record,) = (tmp_path / "cache").iterdir()
    assert json.loads(code_cache.read(record.name)) == [*known[:1], list(known[1]), *known[2:]]
    monkeypatch.setattr(host, "_asked", lambda: None)
    assert host.host.__wrapped__() == known
