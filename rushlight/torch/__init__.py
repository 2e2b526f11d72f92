"""torch's own rarely used modules, a thin file each: `rushlight.cuda` is `rushlight.torch.cuda`, as `torch.cuda` is.

Nothing below imports from here, and nothing here computes. `NAMES` are the modules that programs know directly below
the package; the other files belong to these. `ELSEWHERE` are second names of some.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAMES = frozenset({
    "_C", "_checks", "__config__", "__future__", "_dynamo", "_functorch", "_higher_order_ops", "_inductor", "_logging", "_subclasses", "_tensor", "_utils", "accelerator", "ao",
    "backends", "compiler", "cpu", "cuda", "export", "fft", "functional", "futures", "hub", "jit", "library", "linalg", "masked",
    "mps", "mtia", "multiprocessing", "nested", "onnx", "overrides", "profiler", "quantization", "quasirandom", "random", "return_types", "signal", "special",
    "storage", "types", "utils.collect_env", "utils.cpp_extension", "utils.model_zoo", "version", "xpu",
})  # fmt: skip
ELSEWHERE = {"nn.intrinsic": "ao.nn.intrinsic", "nn.qat": "ao.nn.qat", "nn.quantized": "ao.nn.quantized"}
VISION = "rushlight_vision"  # a package of its own, which is `rushlight.vision` too
_ROOT = __name__.rpartition(".")[0]


def home_of(name: str) -> str:
    """The full name of the module that is public as `rushlight.<...>`: `rushlight.cuda.amp` is `rushlight.torch.cuda.amp`."""
    root, _, below = name.partition(".")
    if root != _ROOT:
        return name
    if below.partition(".")[0] == "vision":
        return VISION + below.removeprefix("vision")
    for older, path in ELSEWHERE.items():
        if below == older or below.startswith(older + "."):
            below = path + below.removeprefix(older)
    return f"{__name__}.{below}" if _is_here(below) else name


def public_name(name: str) -> str:
    """The name under which programs know a module of this folder; any other name as it is."""
    inside = name.removeprefix(__name__ + ".")
    return f"{_ROOT}.{inside}" if inside != name and _is_here(inside) else name


def _is_here(path: str) -> bool:
    return path.partition(".")[0] in NAMES or path in NAMES


def code_to_run(home: str) -> Any:
    """What `python -m` runs for another name of the module `home`: the module under its own name, as imports in it need."""
    return compile(
        f"import runpy\nrunpy.run_module({home!r}, run_name='__main__', alter_sys=True)", f"<{home}>", "exec"
    )


class _Finder:
    """Lets `import rushlight.cuda` give the module of this folder: the same object under both names."""

    home_of = staticmethod(home_of)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        home = self.home_of(fullname)
        if home == fullname or importlib.util.find_spec(home) is None:
            return None
        return ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.home_of(spec.name))
        # the import system is about to write its own spec into the module, whose own comes back in exec_module
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

    def get_code(self, name: str) -> Any:
        return code_to_run(self.home_of(name))


class _FinderOfStandIns:
    """Gives modules outside this folder the names that are unavailable (`unavailable.py`) when they load."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(_ROOT + ".") or fullname.startswith(__name__) or home_of(fullname) != fullname:
            return None
        from . import _stand_ins

        return _stand_ins.find_spec(fullname, path)


class _FinderOfMoved(_Finder):
    """Lets pickles and programs find modules under names that they had before, as the last of all finders."""

    def home_of(self, name: str) -> str:
        if not name.startswith(_ROOT + "."):
            return name
        from ._moved import new_name

        return home_of(new_name(name))


def install() -> None:
    """Make the modules importable by their public names. The first finders know no other names."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path[:0] = [_Finder(), _FinderOfStandIns()]
        sys.meta_path.append(_FinderOfMoved())
