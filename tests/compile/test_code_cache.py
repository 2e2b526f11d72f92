"""Compiled modules on disk: found again by the next process, made again where damaged, never taken from others."""

import os
import subprocess
import sys
import threading

import pytest

from rushlight.compile.lower.disk import code_cache
from rushlight.compile.lower.llvm import engine

pytestmark = pytest.mark.skipif(not engine.available(), reason="needs llvmlite")
TEXT = "define void @f(ptr %x) #0 {{\n  store i64 {}, ptr %x\n  ret void\n}}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """The texts that LLVM compiled."""
    texts, compile_text = [], engine._compiled
    monkeypatch.setattr(engine, "_compiled", lambda b, text, o: texts.append(text) or compile_text(b, text, o))
    return texts


def _build(number, **options):
    return engine.build(TEXT.format(number) + engine.attributes(), **options)


def _result(code):
    import ctypes

    out = ctypes.c_int64()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("f"))(ctypes.addressof(out))
    return out.value


def test_a_module_is_compiled_once(folder, compiled):
    assert _result(_build(7)) == 7 and len(compiled) == 1
    assert _result(_build(7)) == 7 and len(compiled) == 1
    assert _result(_build(8)) == 8 and len(compiled) == 2
    _build(8, optimise=False)
    assert len(compiled) == 3
    assert len(list(folder.iterdir())) == 3
    assert folder.stat().st_mode & 0o777 == 0o700


def test_one_says_where_it_always_is(monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_CACHE", raising=False)
    usual = code_cache.folder()
    monkeypatch.setenv("RUSHLIGHT_CACHE", "1")
    assert usual is not None and code_cache.folder() == usual


LOOP = """
import sys
import rushlight as torch
from rushlight.compile.lower.llvm import engine

texts, compile_text = [], engine._compiled
engine._compiled = lambda b, text, o: texts.append(text) or compile_text(b, text, o)
model = torch.nn.Sequential(torch.nn.Linear(400, 200), torch.nn.Tanh(), torch.nn.Linear(200, 1))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(300):
    optimizer.zero_grad()
    model(torch.randn(16, 400)).square().mean().backward()
    optimizer.step()
print(len(texts))
"""


def test_a_script_compiles_nothing_the_second_time(tmp_path):
    environment = {**os.environ, "RUSHLIGHT_CACHE": str(tmp_path / "cache"), "RUSHLIGHT_JIT": "1"}
    run = lambda: subprocess.run(  # noqa: E731
        [sys.executable, "-c", LOOP], env=environment, capture_output=True, text=True, check=True
    )
    assert int(run().stdout) > 3
    assert int(run().stdout) == 0


@pytest.mark.parametrize("setting", ["0", "/proc/no/such/folder"])
def test_without_a_cache(setting, compiled, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CACHE", setting)
    assert _result(_build(2)) == _result(_build(2)) == 2
    assert len(compiled) == 2


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: data[:100], lambda data: b"", lambda data: data[:80] + b"!" + data[81:],
     lambda data: b"\n" + data, lambda data: b"0" * 64 + data[64:]],
)  # fmt: skip
def test_a_damaged_file_is_made_again(folder, compiled, damage):
    _build(3)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert _result(_build(3)) == 3 and len(compiled) == 2
    assert file.read_bytes() == whole


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of folders")
def test_a_folder_that_others_can_write_to_is_not_read(folder, compiled):
    _build(4)
    for mode in (0o777, 0o770):
        folder.chmod(mode)
        assert code_cache.load(next(iter(folder.iterdir())).name[:-2]) is None
    _build(4)
    assert len(compiled) == 2
    folder.chmod(0o700)
    _build(4)
    assert len(compiled) == 2


def test_the_least_recently_read_go(folder, monkeypatch):
    monkeypatch.setattr(code_cache, "_SWEPT_BY", 1)
    monkeypatch.setattr(code_cache, "MOST_BYTES", 10_000)
    for i in range(9):
        code_cache.store(f"{i:x}", code_cache.Module(["f"], [], b"x" * 1000))
        os.utime(folder / f"{i:x}.o", (i, i))
    code_cache.load("0")  # the last one read
    code_cache.store("9", code_cache.Module(["f"], [], b"x" * 1000))
    left = {p.stem for p in folder.iterdir()}
    assert {"0", "9"} <= left and "1" not in left and sum(p.stat().st_size for p in folder.iterdir()) <= 7_500


def test_threads_and_leftovers(folder):
    module = code_cache.Module(["f"], ["g"], os.urandom(100_000))
    threads = [threading.Thread(target=code_cache.store, args=("k", module)) for _ in range(8)]
    found = []
    for t in threads:
        t.start()
        found.append(code_cache.load("k"))
    for t in threads:
        t.join()
    assert all(f in (None, module) for f in found) and code_cache.load("k") == module
    assert [p.name for p in folder.iterdir()] == ["k.o"]


def test_keys_know_where_a_part_ends():
    assert code_cache.key_of("ab", "c") != code_cache.key_of("a", "bc")


_PROGRAM = """
import sys
from rushlight.compile.lower.llvm import engine
made = []
compile_text = engine._compiled
engine._compiled = lambda b, text, o: made.append(text) or compile_text(b, text, o)
import rushlight as torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(net.parameters())
@torch.compile
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss
for _ in range(6):
    loss = step(torch.randn(5, 8), torch.tensor([0, 1, 2, 3, 0]))
print(loss.item())
print(sum("inttoptr" not in text and "@gather" not in text for text in made))
"""


def test_the_next_process_finds_all(folder):
    results = []
    for isa in (None, None, "sse41"):
        settings = {name: value for name, value in os.environ.items() if name != "RUSHLIGHT_ISA"}
        settings |= {} if isa is None else {"RUSHLIGHT_ISA": isa}
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=settings, check=True
        )
        results.append(done.stdout.split())
    (loss, first), (again, second), (_, other) = results
    assert loss == again and int(first) > 2 and second == "0"
    assert int(other) > 2  # another processor's code
