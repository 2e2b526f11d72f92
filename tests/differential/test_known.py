"""docs/differences.md is current, and Rushlight gives what its programs say."""

import math
import subprocess
import sys

import pytest

import rushlight as torch
import rushlight.nn.functional as F

from .known import KEPT, PAGE, page


def leaf(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def grad(f, x):
    return torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]


def second(f, x):
    return torch.autograd.grad(grad(f, x).sum(), x)[0]


def kept(f, x):
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(tuple(t.shape)) or t, lambda t: t):
        f(x)
    return sizes


def asked(call):
    """The operators that a mode is asked for, in a process of its own: functions that were ever asked for ask from then on."""
    program = (
        "import rushlight as torch, rushlight.nn.functional as F\n"
        "from rushlight.utils._python_dispatch import TorchDispatchMode\n"
        "class Names(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
        "        print(func.overloadpacket.__name__)\n"
        "        return func(*args, **(kwargs or {}))\n"
        "x = torch.ones(2, 1, requires_grad=True)\n"
        f"with Names():\n    {call}\n"
    )
    return " ".join(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.split())


NAMES = {
    "torch": torch, "F": F, "inf": math.inf, "nan": math.nan, "leaf": leaf, "grad": grad, "second": second, "kept": kept,
    "asked": asked,
}  # fmt: skip


@pytest.mark.parametrize(("program", "ours"), [(k[0], k[2]) for k in KEPT])
def test_programs_give_what_the_page_says(program, ours):
    if ours.endswith("Error"):
        with pytest.raises((RuntimeError, NotImplementedError)):
            eval(program, NAMES)
    else:
        assert repr(eval(program, NAMES)) == ours


def test_page_is_current():
    assert PAGE.read_text() == page(), "run `python -m tests.differential --list`"
