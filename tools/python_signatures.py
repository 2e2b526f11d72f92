"""Writes rushlight/core/dispatch/python_signatures.txt: the overloads that torch's Python functions parse.

    python -m tools.python_signatures PYTHON

PYTHON is an interpreter with torch and PyYAML: torch ships the declarations of its operators and the generator of their
bindings. Names that Rushlight does not have are left out. A line is the namespace and a signature as torch's parser has it;
methods are written only where they are not the function's signatures without `input` and `out`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_FILE = Path(__file__).parents[1] / "rushlight/core/dispatch/python_signatures.txt"
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False"

_UNDER_TORCH = """
import importlib, os, types, torch, torchgen
from collections import defaultdict
from torchgen.gen import parse_native_yaml
g = importlib.import_module("torchgen.packaged.autograd.gen_python_functions")
folder = os.path.join(os.path.dirname(torchgen.__file__), "packaged")
native = os.path.join(folder, "ATen/native")
found = parse_native_yaml(native + "/native_functions.yaml", native + "/tags.yaml").native_functions
found = [f for f in found if g.should_generate_py_binding(f)]
older = folder + "/autograd/deprecated.yaml"
methods, functions = (g.load_signatures(found, older, method=m) for m in (True, False))
kinds = [("Tensor", methods, g.is_py_variable_method), ("torch", functions, g.is_py_torch_function)]
kinds += [(n, functions, getattr(g, f"is_py_{n}_function")) for n in ("linalg", "fft", "special", "nn")]
owners = {"Tensor": torch.Tensor, "torch": torch, "nn": torch.nn.functional, "linalg": torch.linalg, "fft": torch.fft, "special": torch.special}
for kind, pairs, belongs in kinds:
    by_name = defaultdict(list)
    for pair in pairs:
        if belongs(pair.function):
            by_name[str(pair.function.func.name.name)].append(pair)
    for name in sorted(by_name):
        public = name.removeprefix(kind + "_")
        if isinstance(getattr(owners[kind], public, None), types.FunctionType):  # in Python, which calls others
            print(kind, name + "!")
            continue
        for o in g.group_overloads(by_name[name]):
            print(kind, o.signature.signature_str(skip_outputs=o.outplace is None, symint=True).replace("|deprecated|deprecated", "|deprecated"))
"""

# Those that torch parses by hand, from torch/csrc/autograd/python_variable_methods.cpp and python_torch_functions_manual.cpp.
_BY_HAND = """\
Tensor contiguous(*, MemoryFormat? memory_format=contiguous_format)
Tensor copy_(Tensor other, bool non_blocking=False)
Tensor requires_grad_(bool requires_grad=True)
Tensor size(int? dim=None)
Tensor stride(int? dim=None)
torch nonzero(Tensor input, *, Tensor out=None)
torch nonzero(Tensor input, *, bool as_tuple)
torch numel(Tensor input)
"""


def _plain(line: str) -> str:
    """A signature in the types that an argument of Python's is checked against."""
    line = line.replace(_OPTIONS, "...").replace("::std::optional<Tensor>", "Tensor?")
    line = (
        line.replace("c10::List<Tensor?>", "Tensor?[]")
        .replace("c10::string_view", "str")
        .replace("ArrayRef<double>", "float[]")
    )
    line = re.sub(r"TensorList(\[\d+\])?", "Tensor[]", line).replace("ScalarList", "Scalar[]")
    line = re.sub(r"\b(?:Sym)?IntArrayRef(?!\[)", "int[]", line)
    line = re.sub(r"\b(?:Sym)?IntArrayRef(?=\[)", "int", line)
    return re.sub(r"\b(?:int64_t|SymInt|DeviceIndex)\b", "int", line).replace("double", "float")


def _as_method(line: str) -> str | None:
    """The signature of the method of a function whose first parameter is the tensor."""
    head, _, rest = line.partition("(")
    if not rest.startswith("Tensor input"):
        return None
    rest = re.sub(r", Tensor(\[\])? out=None", "", rest)
    rest = rest.removeprefix("Tensor input").removeprefix(", ")
    return head + "(" + rest.replace(", *)", ")").replace("(*)", "()")


def main(python: str) -> None:
    """Write the file."""
    import rushlight
    from rushlight import Tensor

    done = subprocess.run([python, "-c", _UNDER_TORCH], capture_output=True, text=True, check=True)
    lines = sorted({*map(_plain, done.stdout.splitlines())} - {""}, key=[*map(_plain, done.stdout.splitlines())].index)
    found: dict[tuple[str, str], list[str]] = {}
    in_python: set[tuple[str, str]] = set()
    by_hand = {line.partition("(")[0] for line in _BY_HAND.splitlines()}
    lines = [line for line in lines if line.partition("(")[0] not in by_hand]
    for line in [*lines, *_BY_HAND.splitlines()]:
        kind, _, signature = line.partition(" ")
        if signature.endswith("!"):
            in_python.add((kind, signature[:-1]))
            continue
        found.setdefault((kind, signature.partition("(")[0]), []).append(signature)
    functional = rushlight.nn.functional

    def is_known(kind: str, name: str) -> bool:
        if name.startswith("_"):
            return False
        if kind == "Tensor":
            return hasattr(Tensor, name)
        if kind in ("torch", "nn"):
            return hasattr(rushlight if kind == "torch" else functional, name)
        return hasattr(getattr(rushlight, kind), name.removeprefix(kind + "_"))

    out = [
        f"Tensor {name}!"
        for kind, name in in_python
        if kind == "Tensor" and ("torch", name) in found and is_known(kind, name)
    ]
    for (kind, name), signatures in found.items():
        if not is_known(kind, name):
            continue
        if kind == "Tensor":
            derived = [
                s.replace("(*)", "()").replace(", *)", ")")
                for s in map(_as_method, found.get(("torch", name), []))
                if s
            ]
            if [s.replace("(*, )", "()") for s in derived] == signatures:
                continue
        out += [f"{kind} {s}" for s in signatures]
    _FILE.write_text("\n".join(sorted(out, key=lambda s: s.split("(")[0])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
