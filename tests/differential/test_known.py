"""docs/differences.md is current, and Rushlight gives what its programs say."""

import math

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


def hooks_of_others():
    seen, parts = [], (torch.ones(3, requires_grad=True) * 1).unbind()
    for part in parts[::2]:
        part.register_hook(lambda g: seen.append(g is None))
    parts[1].backward()
    return seen


NAMES = {
    "torch": torch, "F": F, "inf": math.inf, "nan": math.nan, "leaf": leaf, "grad": grad, "second": second, "kept": kept,
    "hooks_of_others": hooks_of_others,
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
