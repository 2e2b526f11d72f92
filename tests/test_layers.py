"""Layers import downward only: DESIGN's order, enforced over every import statement, also those inside functions."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "rushlight"
LAYERS = (
    "core", "ops", "sparse", "signal", "backend", "amp", "autograd", "compile", "nn", "fx", "distributions", "optim", "utils", "func", "vision", "distributed",
    "doctor", "compat", "testing",
)  # fmt: skip
TOP = len(LAYERS)  # serialization, cli, __init__ and the other modules of the package's own folder
FILES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py"))


def _layer(parts: tuple[str, ...]) -> int:
    return LAYERS.index(parts[0]) if parts and parts[0] in LAYERS else TOP


def _imported(tree: ast.AST, package: tuple[str, ...]):
    """(line, module path below rushlight) of every import of the package's own modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "rushlight":
                    yield node.lineno, tuple(a.name.split(".")[1:])
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                path = base + tuple((node.module or "").split(".")) if node.module else base
            elif (node.module or "").split(".")[0] == "rushlight":
                path = tuple(node.module.split(".")[1:])
            else:
                continue
            for a in node.names:
                yield node.lineno, path if path and path[0] in LAYERS else (*path, a.name)


@pytest.mark.parametrize("file", FILES)
def test_imports_point_downward(file):
    path = ROOT / file
    parts = tuple(file.removesuffix(".py").split("/"))
    package = parts[:-1]
    mine = _layer(parts)
    wrong = [
        f"line {line}: imports rushlight.{'.'.join(target)}"
        for line, target in _imported(ast.parse(path.read_text()), package)
        if _layer(target) > mine
    ]
    assert not wrong, f"{file} (layer {LAYERS[mine] if mine < TOP else 'top'}): " + "; ".join(wrong)


def test_every_folder_is_a_layer():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= {
        *LAYERS,
        "serialization",
        "cpu",
        "cuda",
        "backends",
        "multiprocessing",
        "_dynamo",
        "_functorch",
        "_higher_order_ops",
        "_inductor",
        "cli",
    }
