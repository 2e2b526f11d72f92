"""Run the sessions of tests/semantics under torch and write what they print into them. Run with torch installed:

python tests/golden/make_semantics.py [THEME ...]
"""

import json
import sys
from pathlib import Path

import torch
import torch.utils.data

here = Path(__file__).parent
sys.path.insert(0, str(here.parents[1]))

from tests.semantics import session  # noqa: E402


def public(owner: object) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def _is_functional(name: str) -> bool:
    f = getattr(torch.nn.functional, name)
    named = name[0].islower() and callable(f) and "torch_function" not in name
    return named and name not in ("assert_int_or_pair", "boolean_dispatch")


def listed() -> dict[str, list[str]]:
    """The names that torch lists, by owner."""
    return {
        "torch.Tensor": public(torch.Tensor),
        "torch.autograd": [n for n in torch.autograd.__all__ if n not in ("variable", "grad_mode")],
        "torch.autograd.Function": public(torch.autograd.Function),
        "torch.autograd.graph": torch.autograd.graph.__all__,
        "torch.autograd.functional": torch.autograd.functional.__all__,
        "torch.nn.Module": public(torch.nn.Module),
        "torch.nn.modules": torch.nn.modules.__all__,
        "torch.nn.functional": [n for n in public(torch.nn.functional) if _is_functional(n)],
        "torch.nn.init": [n for n in public(torch.nn.init) if n.endswith("_")],
        "torch.nn.utils": list(torch.nn.utils.__all__),
        "torch.optim": torch.optim.__all__,
        "torch.optim.Optimizer": public(torch.optim.Optimizer),
        "torch.optim.lr_scheduler": torch.optim.lr_scheduler.__all__,
        "torch.utils.data": [n for n in torch.utils.data.__all__ if not n.startswith("_")],
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    for theme in sys.argv[1:] or session.THEMES:
        sections = [session.shown(s.names, session.repeat(torch, s)) for s in session.read(theme)]
        (session.HERE / f"{theme}.txt").write_text("\n".join(sections))
    (here / "semantics_listed.json").write_text(json.dumps(listed(), indent=0) + "\n")
