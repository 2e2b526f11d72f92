"""The check build fills memory before a run and guards scratchpads; a primitive of oneDNN that writes outside is refused."""

import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn.library import available as has_onednn
from rushlight.compile.lower.llvm import engine
from rushlight.compile.lower.onednn.guarded import Guarded
from rushlight.core import poison

native = pytest.mark.skipif(not (engine.available() and has_onednn()), reason="no compiler or no oneDNN here")


def test_every_element_is_filled_with_nan_and_with_large_numbers_by_turns():
    for shape, dtype in (
        ((3, 5), np.float32),
        ((7,), np.float64),
        ((4, 2), np.int64),
        ((3,), np.bool_),
        ((), np.float32),
    ):
        a, b = poison.empty(shape, dtype), poison.empty(shape, dtype).T
        assert {x.tobytes()[:1] for x in (a, b)} == {b"\xff", np.float32(7e5).tobytes()[:1]}
    turned = np.zeros((4, 6), np.float32).transpose()
    poison.fill(turned)
    assert not (turned == 0).any()
    part = np.zeros((4, 6), np.float32)
    poison.fill(part[:, 1:3])  # what is between belongs to another array
    assert not part.any()


@pytest.mark.parametrize("offset", [-1, 64])
def test_guards_see_a_byte_beside_the_room(offset):
    room = Guarded(64)
    assert room.address % 64 == 0 and room._check() == 0
    room._fill()
    assert room._check() == 0
    room.buffer[room.start + offset] ^= 1
    assert room._check() == 1


@native
def test_a_run_begins_with_a_filled_arena(monkeypatch):
    filled: list = []
    f = torch.compile(lambda x: torch.softmax(x @ x, 1).cumsum(0).sum(1, keepdim=True) * x)
    x = torch.randn(16, 16)
    expected = [f(x) for _ in range(4)][-1]
    monkeypatch.setattr(poison, "on", True)
    monkeypatch.setattr(poison, "fill", lambda a, fill=poison.fill: (filled.append(a), fill(a)))
    again = f(x)
    program = f.captured[0].program.executable
    assert any(a.ctypes.data == program.arena.address for a in filled) and any(a is again._array for a in filled)
    assert torch.equal(again, expected)


_STRIDED = """
import numpy as np, torch
from torch.nn import functional as F
torch.set_num_threads(1)
def step(x, w, b, g):
    w.grad = b.grad = None
    F.conv2d(x, w, b, stride=2).backward(g)
    return w.grad, b.grad
compiled = torch.compile(step)
for channels in (1, 3, 5, 7, 8):
    for size in (4, 6, 9):
        generator = torch.Generator().manual_seed(channels)
        new = lambda *shape: torch.randn(*shape, generator=generator)
        x, w, b = new(2, channels, size, size), new(5, channels, 1, 1).requires_grad_(), new(5).requires_grad_()
        g = new(2, 5, (size + 1) // 2, (size + 1) // 2)
        dw = np.einsum("nchw,nkhw->kc", x.numpy()[:, :, ::2, ::2].astype(float), g.numpy().astype(float))
        for run in (step, torch.compile(step)):
            for _ in range(5):
                found, bias = run(x, w, b, g)
                np.testing.assert_allclose(found.numpy()[:, :, 0, 0], dw, rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(bias.numpy(), g.numpy().sum((0, 2, 3)), rtol=1e-4, atol=1e-4)
        assert not [c for c in run.captured if "Python" in c.program.executable.describe()]
print("right")
"""


@native
def test_the_gradient_of_a_strided_1x1_kernel_is_right_with_avx2(monkeypatch):
    """oneDNN's own primitive gathers the input beyond its scratchpad, over the gradient that the bias's is summed from."""
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        _STRIDED.replace("torch", "rushlight as torch", 1).replace("from torch.nn", "from rushlight.nn"),
    ]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert child.stdout == "right\n", child.stderr
