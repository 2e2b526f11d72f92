"""Layers import downward only: every import statement, also those inside functions, and imports by name in strings."""

import ast
from pathlib import Path

import pytest

import rushlight
from tools.layers import ABOVE_ALL, LAYERS, ROOT, files, imported, layer_of

FILES = files()
# engine folders have at most 20 files in the end; the others hold one file for each module of torch's
MOST_FILES_IN_A_FOLDER = {
    "autograd": 20, "backend/onednn": 20, "nn/modules": 40, "distributions": 50,
    "torch": 41, "optim": 23, "doctor/checks": 50,
}  # fmt: skip
MOST_FILES_OF_OPS = 12  # in any folder of operators
MOST_FILES = 21  # in any other folder


def _name(layer: int) -> str:
    return LAYERS[layer] if layer < ABOVE_ALL else "the package itself"


@pytest.mark.parametrize("file", FILES)
def test_imports_point_downward(file):
    parts = tuple(file.removesuffix(".py").split("/"))
    mine = layer_of(parts)
    wrong = [
        f"line {line}: imports rushlight.{'.'.join(target)}"
        for line, target in imported(ast.walk(ast.parse((ROOT / file).read_text())), parts[:-1])
        if mine < ABOVE_ALL
        and layer_of(target) > mine
        and not (target == () and LAYERS[mine] in ("torch", "alias", "cli"))
    ]
    assert not wrong, f"{file} (layer {_name(mine)}): " + "; ".join(wrong)


def test_the_layer_test_sees_strings_and_statements():
    code = (
        'import rushlight.cli\nfrom ...optim import io\nimport_module("rushlight.cli.run")\nsys.modules["rushlight"]\n'
        'sys.modules.get("rushlight.nn")\nimport_module("rushlight." + name)\nimportlib.import_module("numpy")'
    )
    found = [(line, layer_of(target)) for line, target in imported(ast.walk(ast.parse(code)), ("ops", "nn"))]
    at = LAYERS.index
    assert sorted(found) == [
        (1, at("cli")), (2, at("optim")), (3, at("cli")), (4, ABOVE_ALL), (5, at("nn")), (6, ABOVE_ALL),
    ]  # fmt: skip


def test_every_folder_is_alayer_of():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(LAYERS)
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}


VISION = ROOT.parent / "rushlight_vision"
# torch's own modules below the package itself, and Clamped, which both packages read archives through
INSIDE = {"core", "ops", "backend", "alias", "cli"}
PUBLIC = {"torch._C", "autograd", "distributions", "nn", "nn.functional", "utils._pytree", "utils.archives", "utils.checkpoint", "utils.data"}  # fmt: skip


@pytest.mark.parametrize("path", sorted(VISION.rglob("*.py")), ids=lambda p: p.relative_to(VISION).as_posix())
def test_vision_imports_public_names_only(path):
    for line, target in imported(ast.walk(ast.parse(path.read_text())), ("", "")):
        module = ".".join(target)
        name_of_torchs = len(target) == 1 and hasattr(rushlight, module) and module not in INSIDE
        assert not module or name_of_torchs or {module, module.rpartition(".")[0]} & PUBLIC, (
            f"line {line}: imports rushlight.{module}"
        )


def test_nothing_imports_vision():
    for file in FILES:
        for node in ast.walk(ast.parse((ROOT / file).read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("rushlight_vision", "rushlight.vision")) for name in names), file


def test_torch_computes_nothing():
    for path in (ROOT / "torch").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not any(name.split(".")[0] == "numpy" for name in names), f"{path} imports NumPy"


def test_torch_names_are_its_files():
    from rushlight.torch import NAMES

    stems = {p.stem for p in (ROOT / "torch").iterdir() if p.stem not in ("__init__", "__pycache__", "utils")}
    stems |= {f"utils.{p.stem}" for p in (ROOT / "torch" / "utils").glob("*.py") if p.stem != "__init__"}
    private = {
        "_lazy",
        "_masked_functions",
        "_masked_tensor",
        "_moved",
        "_no_device",
        "_opcheck",
        "_parameters",
        "_schema",
        "_settings",
        "_stand_ins",
        "_sym",
        "unavailable",
    }
    assert stems == NAMES | private


@pytest.mark.parametrize("folder", sorted({str(Path(f).parent) for f in FILES}))
def test_folders_stay_small(folder):
    files = [p for p in (ROOT / folder).glob("*.py") if p.name != "__init__.py"]
    most = MOST_FILES_OF_OPS if folder.split("/")[0] == "ops" else MOST_FILES
    assert len(files) <= MOST_FILES_IN_A_FOLDER.get(folder, most)
