"""Coverage: which of torch's public names Rushlight has, name by name, from torch's list of names and the table of absences."""

from __future__ import annotations

import importlib.util
from collections import Counter
from functools import cache
from typing import NamedTuple

from rushlight.alias import install, torch_names
from rushlight.torch.unavailable import ROWS

MODULES = (
    "torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn",
    "torch.nn.utils.parametrize", "torch.nn.utils.parametrizations", "torch.nn.utils.prune", "torch.nn.attention",
    "torch.nn.parallel", "torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.autograd",
    "torch.autograd.functional", "torch.autograd.forward_ad", "torch.autograd.graph", "torch.autograd.profiler",
    "torch.linalg", "torch.fft", "torch.special", "torch.signal.windows", "torch.sparse", "torch.masked", "torch.nested",
    "torch.func", "torch.fx", "torch.distributions", "torch.amp", "torch.compiler", "torch.export", "torch.onnx", "torch.jit",
    "torch.profiler", "torch.utils.data", "torch.utils.checkpoint", "torch.utils.benchmark", "torch.utils.tensorboard",
    "torch.utils.flop_counter", "torch.utils.hooks", "torch.distributed", "torch.multiprocessing", "torch.random",
    "torch.futures", "torch.hub", "torch.library", "torch.overrides", "torch.testing", "torch.quantization", "torch.ao.quantization",
    "torch.accelerator", "torch.cpu", "torch.cuda", "torch.mps", "torch.xpu", "torch.mtia",
    "torchvision.datasets", "torchvision.models", "torchvision.models.detection", "torchvision.models.segmentation",
    "torchvision.ops", "torchvision.transforms", "torchvision.transforms.functional", "torchvision.transforms.v2",
    "torchvision.transforms.v2.functional", "torchvision.tv_tensors", "torchvision.io", "torchvision.utils",
)  # fmt: skip
# torch's documentation has a page for each name of these, and sections of one page for those of the others
_OWN_PAGES = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.utils", "torch.nn.utils.rnn", "torch.optim",
    "torch.optim.lr_scheduler", "torch.linalg", "torch.fft", "torch.sparse", "torch.jit", "torch.func", "torch.autograd.functional",
    "torch.cuda", "torch.signal.windows", "torch.nn.utils.parametrizations", "torch.nn.utils.parametrize", "torch.accelerator",
)  # fmt: skip
_SECTIONS = {"torch.utils.data": "data", "torch.nn.init": "nn.init", "torch.special": "special", "torch.distributions":
             "distributions", "torch.distributed": "distributed", "torch.profiler": "profiler", "torch.fx": "fx",
             "torch.utils.checkpoint": "checkpoint", "torch.utils.tensorboard": "tensorboard", "torch.hub": "hub",
             "torch.library": "library", "torch.amp": "amp", "torch.testing": "testing", "torch.random": "random"}  # fmt: skip
HERE, RAISES, ABSENT = "yes", "raises", "no"
NEEDED = {"torch.utils.tensorboard": "tensorboard"}  # a module that a package must be there for


class Entry(NamedTuple):
    """One of torch's names: `state` is HERE, RAISES (its stand-in says why, `note`) or ABSENT."""

    name: str
    state: str
    note: str = ""


def outside_the_sidebar(text: str, part: str) -> str:
    """A page that is in no sidebar, since 170 more entries on each page would double the time of the build: it says in which part it is."""
    title, _, rest = text.partition("\n")
    return f"---\norphan: true\n---\n{title}\n\n[{part}](index.md) / {title.lstrip('# ')}\n{rest}"


def pages() -> dict[str, str]:
    """{file name: text}: the summary, and a page for each module."""
    modules = ("torch.Tensor", *MODULES)
    rows = [_summary(module) for module in sorted(modules)]
    total = Counter(entry.state for module in modules for entry in entries(module))
    head = (
        "# Coverage of torch's names\n\n"
        f"Of {total.total()} public names of torch 2.13 and torchvision 0.28 in the modules below, Rushlight has **{total[HERE]}**; "
        f"{total[RAISES]} can be imported and raise an error that says why when they are used, and {total[ABSENT]} are missing: "
        "the error of using one names it. The pages are generated from torch's list of names and Rushlight's table of what it "
        "cannot serve. A name that is here may refuse an argument; the error says so.\n\n"
        "| module | yes | raises | no |\n|---|---|---|---|\n"
    )
    return {"index.md": head + "\n".join(rows) + "\n"} | {f"{m}.md": _page(m) for m in modules}


@cache
def entries(module: str) -> list[Entry]:
    """The public names of one of torch's modules (or of `torch.Tensor`), in alphabetical order."""
    install()
    if (package := NEEDED.get(module)) and importlib.util.find_spec(package) is None:
        return [Entry(f"{module}.{name}", HERE, f"needs the package {package}") for name in _names(module)]
    return [_entry(f"{module}.{name}") for name in _names(module)]


def _names(module: str) -> list[str]:
    if module == "torch.Tensor":
        return sorted(torch_names.of_class(module) or ())
    names = torch_names.of_module(module)
    public = {n: known for n, known in names.items() if not n.startswith("_") and known.kind in "cef"}
    exported = [n for n, known in public.items() if known.exported]
    if exported and module != "torch":
        return sorted(exported)
    return sorted(n for n, known in public.items() if known.path in ("", f"{module}.{n}"))


def _entry(name: str) -> Entry:
    from rushlight.alias.lookup import status  # after `install`

    row = ROWS.get(name.removeprefix("torch."))
    if row is not None:
        return Entry(name, RAISES, row.doc())
    return Entry(name, HERE if status(name) == "here" else ABSENT)


def _summary(module: str) -> str:
    count = Counter(entry.state for entry in entries(module))
    return f"| [{module}]({module}.md) | {count[HERE]} | {count[RAISES]} | {count[ABSENT]} |"


def _page(module: str) -> str:
    lines = [
        f"# {module}",
        "",
        "The names lead to torch's documentation.",
        "",
        "| name | here | |",
        "|---|---|---|",
    ]
    for entry in entries(module):
        note = " ".join(entry.note.replace("|", "\\|").replace("<", "&lt;").split())
        lines.append(
            f"| [{entry.name.removeprefix(module + '.')}]({torch_page(entry.name)}) | {entry.state} | {note} |"
        )
    return outside_the_sidebar("\n".join(lines) + "\n", "Coverage")


def torch_page(name: str) -> str:
    """The address of a name in torch's or torchvision's documentation; where its pattern is not known, of its search."""
    module = name.rpartition(".")[0]
    if name.startswith("torchvision"):
        return f"https://docs.pytorch.org/vision/stable/search.html?q={name}"
    if module in _OWN_PAGES:
        return f"https://docs.pytorch.org/docs/stable/generated/{name}.html"
    if page := _SECTIONS.get(module):
        return f"https://docs.pytorch.org/docs/stable/{page}.html#{name}"
    return f"https://docs.pytorch.org/docs/stable/search.html?q={name}"
