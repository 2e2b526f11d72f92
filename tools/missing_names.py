"""`python -m tools.missing_names`: write docs/missing-names.md, the public names of torch that Rushlight does not have.

They are read from the list of torch's names in `rushlight/alias`: what a public module exports (its `__all__`), each thing
once, under the path by which users know it.
"""

from __future__ import annotations

import textwrap
import warnings
from collections import defaultdict
from pathlib import Path

__all__ = ["PAGE", "missing", "page"]

PAGE = Path(__file__).parent.parent / "docs" / "missing-names.md"
_LEFT_OUT = (
    "torch.utils.tensorboard",
    "torch.utils.hipify",
    "torchvision",
)  # an optional package; not about tensors; its own
_HEAD = """# Names of torch that are missing

Written by `python -m tools.missing_names`; a test says when it is out of date. These are the names that a public module of
torch 2.13 exports (its `__all__`) and that Rushlight does not have: {missing} of {all}. Each can be imported, subclassed and used
in annotations, and raises NotImplementedError when it is called ([Running programs](running-programs.md)). None of them is
among the 538 functions, classes and methods that 88 [public programs](programs.md) use.
"""


def missing() -> tuple[dict[str, list[str]], int]:
    """{module: names that are missing}, and the number of all names."""
    from rushlight.alias import install, torch_names
    from rushlight.alias.lookup import status

    install()
    found: dict[str, set[str]] = defaultdict(set)
    paths: set[str] = set()
    for module in torch_names.modules():
        if module.startswith(_LEFT_OUT) or any(part.startswith("_") for part in module.split(".")):
            continue
        for name, known in torch_names.of_module(module).items():
            path = known.path or f"{module}.{name}"
            if not known.exported or known.kind in "mx" or path in paths or path.startswith(_LEFT_OUT):
                continue
            if any(part.startswith("_") for part in path.split(".")):
                continue
            paths.add(path)
            if status(path) != "here":
                found[path.rpartition(".")[0]].add(path.rpartition(".")[2])
    return {module: sorted(names) for module, names in sorted(found.items())}, len(paths)


def page() -> str:
    """The page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names, count = missing()
    lines = [_HEAD.format(missing=sum(map(len, names.values())), all=count)]
    for module, of_module in names.items():
        text = f"- `{module}` ({len(of_module)}): {', '.join(of_module)}"
        lines.append(textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
