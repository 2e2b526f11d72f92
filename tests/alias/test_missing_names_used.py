"""Each name of docs/missing-names-used.md can be imported, and says at its use that it is missing."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "missing-names-used.md"

PROGRAM = """
import importlib, sys

for name in sys.argv[1:]:
    head, _, last = name.rpartition(".")
    try:
        try:
            found = getattr(importlib.import_module(head), last)
        except ModuleNotFoundError:  # a method: its class has not the name
            module, _, owner = head.rpartition(".")
            found = getattr(getattr(importlib.import_module(module), owner), last)
        found()
    except NotImplementedError as error:
        said = last in str(error)
    except (AttributeError, TypeError) as error:  # a method that its class lacks, a module that is called
        said = last in str(error) or "_Absent" in str(error)
    else:
        said = False
    print(name, said)
"""


def test_each_says_that_it_is_missing(program):
    names = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    done = program.run(program.write("script.py", PROGRAM), *names)
    said = dict(line.split() for line in done.stdout.splitlines())
    assert len(names) > 50 and list(said) == names, done.stderr
    assert [name for name, answer in said.items() if answer != "True"] == []


NOW_THERE = """
import torch

x, y = torch.ones(2), torch.tensor([0.3, 0.7])
print(torch._softmax_backward_data(x, y, 0, torch.float32).tolist())
print(torch._shape_as_tensor(torch.ones(2, 3)).tolist(), torch.autograd._profiler_enabled())
print(torch._C._jit_set_profiling_mode(False), torch._C._jit_set_profiling_mode(True))
print(torch._C._jit_override_can_fuse_on_cpu(False), torch._C._jit_can_fuse_on_cpu(), torch._C._jit_can_fuse_on_gpu())
print(len(torch.overrides.get_default_nowrap_functions()))
node = (torch.ones(2, requires_grad=True) * 2).grad_fn
number = node._sequence_nr()
node._set_sequence_nr(number + 5)
print(node._sequence_nr() - number, torch.autograd._get_sequence_nr() > number)
"""


def test_names_that_are_there(program):
    done = program.run(program.write("script.py", NOW_THERE))
    expected = "[0.0, 0.0]\n[2, 3] False\nTrue False\nNone False False\n3\n5 True\n"
    assert done.stdout == expected, done.stderr
