"""One import finder that serves `torch`, `torch.*`, `torchvision` and `torchvision.*` from Rushlight.

`torch` itself is a module of its own that shows Rushlight's names beside torch's version. Everything below it is the
Rushlight module, the same object under two names: `torch.nn` is `rushlight.nn`. The finder stands before all others and
never lets these names pass, so that an installed torch is not imported.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from pathlib import Path

# what a name begins with, and what takes its place; the longest match counts
_SOURCES = {
    "torch": "rushlight",
    "torch.version": "rushlight.compat.version",
    "torchvision": "rushlight.vision",
    "torchvision.transforms.transforms": "rushlight.vision.transforms",
}
_PATH_FOLDER = Path(__file__).parent / "path"


def install(children=True):
    """Make `import torch` and `import torchvision` give Rushlight in this process; calling it again changes nothing.

    children=True does the same for the Python processes that this one starts from now on, DataLoader workers among
    them, by way of PYTHONPATH and `sys.path`.

    Raises RuntimeError if the real torch or torchvision has been imported already.
    """
    for name in ("torch", "torchvision"):
        module = sys.modules.get(name)
        if module is not None and not _is_ours(module):
            raise RuntimeError(
                f"{name} is imported already, from {getattr(module, '__file__', 'an unknown place')}; call "
                "rushlight.compat.install() before anything that imports it"
            )
    if not installed():
        sys.meta_path.insert(0, AliasFinder())
    if children:
        _teach_children()


def installed():
    """Whether `install` has been called in this process."""
    return any(isinstance(finder, AliasFinder) for finder in sys.meta_path)


class AliasFinder:
    """Finder and loader for the alias names."""

    def find_spec(self, fullname, path=None, target=None):
        source = source_of(fullname)
        if source is None:
            return None
        if not _exists(source):
            raise ModuleNotFoundError(f"No module named {fullname!r}: Rushlight has no {source}", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self, origin=source, is_package=fullname == "torch")

    def create_module(self, spec):
        module = importlib.import_module(spec.origin)
        if spec.name == "torch":
            return _torch(module)
        # the import system is about to write the alias's spec into the module, whose own comes back in exec_module
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        spec = module.__spec__
        if spec.loader_state is not None:
            module.__spec__ = spec.loader_state


def source_of(name):
    """The Rushlight module that stands behind a torch name, or None for a name that is not one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if source := _SOURCES.get(".".join(parts[:length])):
            return ".".join([source, *parts[length:]])
    return None


def _exists(module):
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is a module, not a package
        return False


class _Torch(types.ModuleType):
    """The module `torch`: Rushlight's names, found there at their first use and kept."""

    def __getattr__(self, name):
        try:
            value = getattr(sys.modules["rushlight"], name)
        except AttributeError:
            raise AttributeError(f"module 'torch' has no attribute {name!r}: Rushlight does not have it") from None
        if not name.startswith("__"):
            setattr(self, name, value)
        return value

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(sys.modules["rushlight"])})


def _torch(rushlight):
    from rushlight.compat import version

    module = _Torch("torch", rushlight.__doc__)
    module.version = version
    module.__version__ = version.__version__
    module.__package__ = "torch"
    module.__path__ = rushlight.__path__
    module.__file__ = rushlight.__file__
    if hasattr(rushlight, "__all__"):
        module.__all__ = rushlight.__all__
    return module


def _is_ours(module):
    return isinstance(module, _Torch) or module.__name__.partition(".")[0] == "rushlight"


def _teach_children():
    """Put a folder with a `torch.py` that calls `install` on the paths that child processes take over.

    A spawned worker gets the parent's sys.path, any other Python process its PYTHONPATH.
    """
    folder = str(_PATH_FOLDER)
    if folder not in sys.path:
        sys.path.insert(1, folder)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, paths)])
