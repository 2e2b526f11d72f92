"""One import finder that serves `torch`, `torch.*`, `torchvision`, `torchvision.*` and `functorch` from Rushlight.

`torch` itself is a module of its own that shows Rushlight's names and torch's version. Below it, where both packages
have a module of a name, it is the Rushlight module, the same object under two names: `torch.nn` is `rushlight.nn`. Where
torch alone has a module it is made on the spot, and finds its names when they are asked for. The finder comes before
all others and never lets these names pass, so that an installed torch is not imported.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from pathlib import Path

from ..core import own_code
from ..core.jit_switch import run_for_torch
from ..torch import code_to_run, version
from . import lookup, missing_report, torch_names

ABSENT_PACKAGES = ("torchaudio",)
_ROOTS = ("torch", "torchvision", "functorch")
_PATH_FOLDER = Path(__file__).parent / "path"


def install(children=True):
    """Make `import torch` and `import torchvision` give Rushlight in this process; calling it again changes nothing.

    children=True does the same for the Python processes that this one starts from now on, DataLoader workers among
    them, by way of PYTHONPATH and `sys.path`.

    Raises RuntimeError if the real torch or torchvision has been imported already.
    """
    for name in _ROOTS:
        module = sys.modules.get(name)
        if module is not None and not _is_ours(module):
            raise RuntimeError(
                f"{name} is imported already, from {getattr(module, '__file__', 'an unknown place')}; call "
                "rushlight.alias.install() before anything that imports it"
            )
    if not installed():
        sys.meta_path.insert(0, AliasFinder())
    run_for_torch()
    missing_report.join()
    _hide_absent_packages()
    _show_versions()
    if children:
        _teach_children()


def installed():
    """Whether `install` has been called in this process."""
    return any(isinstance(finder, AliasFinder) for finder in sys.meta_path)


class AliasFinder:
    """Finder and loader for the alias names."""

    def find_spec(self, fullname, path=None, target=None):
        root = fullname.partition(".")[0]
        if root in ABSENT_PACKAGES:
            return self._nothing(fullname, f"Rushlight does not have {root}, and the real one needs the real torch")
        if root not in _ROOTS:
            return None
        source = lookup.source_of(fullname)
        if source and lookup.exists(source):
            return self._spec(fullname, origin=source, is_package=fullname == "torch")
        if torch_names.is_module(fullname) or fullname in lookup.OPERATORS:
            return self._spec(fullname, is_package=True)
        nor_torch = "" if "._" in fullname else ", and torch has no such module"
        return self._nothing(fullname, f"Rushlight has no {source or fullname}{nor_torch}")

    def _spec(self, name, **facts):
        return importlib.machinery.ModuleSpec(name, self, **facts)  # type: ignore[arg-type]

    def _nothing(self, name, why):
        """No spec for a caller of `importlib.util.find_spec`; an import gets the reason."""
        if sys._getframe(3).f_globals.get("__name__") == "importlib.util":
            return None
        raise ModuleNotFoundError(f"No module named {name!r}: {why}", name=name)

    def create_module(self, spec):
        if spec.origin is None:
            return _Absent(spec.name, f"What torch has in {spec.name}, where Rushlight has it; stand-ins for the rest.")
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
        if spec.origin is not None:
            _dress(spec.name, module, sys.modules[spec.origin])
        else:
            _load_beside_functions(spec.name)
            if missing_report.is_kept() and lookup.is_hollow(spec.name):
                missing_report.note_module(spec.name)

    def get_code(self, name):
        """The code of the Rushlight module, for `python -m torch.something`."""
        source = lookup.source_of(name)
        return code_to_run(source) if source and lookup.exists(source) else None


# dressing our modules as torch's


def _dress(name, module, source):
    """Let torch's module `name` show what torch's shows: places of classes, modules below it, stand-ins."""
    _add_fallback(name, module)
    _place_classes(name, source)
    below = source.__name__ + "."
    for ours in [loaded for loaded in sys.modules if loaded.startswith(below)]:
        theirs = f"{name}.{ours[len(below) :]}"
        if theirs not in sys.modules and torch_names.is_module(theirs) and lookup.source_of(theirs) == ours:
            sys.modules[theirs] = sys.modules[ours]
            _add_fallback(theirs, sys.modules[ours])
            _place_classes(theirs, sys.modules[ours])
    _load_beside_functions(name)
    if name == "torch":
        lookup.add_absent_methods()


def _add_fallback(name, module):
    """Names that the module has not are looked up by `lookup.find` when they are asked for."""
    if name == "torch" or isinstance(module, _Absent) or lookup.is_kept(name):
        return
    before = vars(module).get("__getattr__")
    before = getattr(before, "own", before)  # a module of two names has a fallback already
    lookup.keep(name, before)

    def __getattr__(attribute):
        value = lookup.of_lazy(before, attribute)
        if isinstance(value, types.ModuleType) and value.__name__.startswith(module.__name__):
            value = lookup.dressed(name, attribute, value)
        if value is not lookup.MISSING:
            return lookup.placed(name, attribute, value)
        below = f"{module.__name__}.{attribute}"
        if "__path__" in vars(module) and not attribute.startswith("__") and lookup.exists(below):
            return importlib.import_module(below)
        return lookup.find(name, attribute)

    __getattr__.own = before
    module.__getattr__ = __getattr__


def _place_classes(name, module):
    """Classes name torch's module as their own: in pickles, in their repr and in messages."""
    shown = vars(module)
    for attribute, home in torch_names.homes(name).items():
        value = shown.get(attribute)
        if (
            isinstance(value, type)
            and value.__module__.startswith(own_code.MODULES)
            and value.__qualname__ == attribute
        ):
            value.__module__ = home


def _load_beside_functions(parent):
    """Have modules in `sys.modules` from the start that share their names with functions of their parent.

    Importing one later would put it in the function's place.
    """
    for child in torch_names.conflicts(parent):
        name, ours = f"{parent}.{child}", lookup.loaded(parent)
        if name in sys.modules:
            continue
        function = vars(ours).get(child) if ours is not None else None
        module = lookup.loaded(name)
        if module is None:
            module = sys.modules[name] = _Absent(name)
        else:
            sys.modules[name] = module
            _add_fallback(name, module)
        if function is not None:
            setattr(ours, child, function)


class _Absent(types.ModuleType):
    """A module that torch alone has."""

    def __getattr__(self, name):
        return lookup.find(vars(self)["__name__"], name)


def _torch(rushlight):
    """The module `torch`: Rushlight's names, found there at their first use and kept.

    Its class is that of every module: attributes of a subclass take twice as long to read.
    """
    module = types.ModuleType("torch", rushlight.__doc__)

    def __getattr__(name):
        if name == "__all__":
            names = torch_names.of_module("torch")
            return [n for n in names if names[n].exported and lookup.own("torch", n) is not lookup.MISSING]
        value = lookup.find("torch", name)
        if lookup.own("torch", name) is value:
            setattr(module, name, value)
        return value

    vars(module).update(
        __getattr__=__getattr__,
        __dir__=lambda: sorted({*vars(module), *torch_names.of_module("torch").keys() & dir(rushlight)}),
        version=version,
        __version__=version.__version__,
        __package__="torch",
        __path__=rushlight.__path__,
    )
    module.__file__ = rushlight.__file__
    return module


def _is_ours(module):
    return _is_torch(module) or module.__name__.partition(".")[0] in ("rushlight", "rushlight_vision")


def _is_torch(module):
    return module.__name__ == "torch" and isinstance(getattr(module.__spec__, "loader", None), AliasFinder)


# what other code sees of the installation


def _hide_absent_packages():
    """Let `importlib.util.find_spec` say that packages which need the real torch are absent, where they are installed.

    A finder can only pass them on to the next one; None in `sys.modules` ends the search, and an import.
    """
    for name in ABSENT_PACKAGES:
        if name not in sys.modules and importlib.machinery.PathFinder.find_spec(name) is not None:
            sys.modules[name] = None  # type: ignore[assignment]


def _show_versions():
    """Put the folder with what `importlib.metadata` reads about torch and torchvision on this process's path."""
    folder = str(_PATH_FOLDER)
    if folder not in sys.path:
        sys.path.insert(1, folder)


def _teach_children():
    """Put a folder with a `torch.py` that calls `install` on the paths that child processes take over.

    A spawned worker gets the parent's sys.path, any other Python process its PYTHONPATH.
    """
    folder = str(_PATH_FOLDER)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, paths)])
