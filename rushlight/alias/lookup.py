"""From a torch name to what it resolves to: Rushlight's own, wherever it is, or a stand-in from absent.py."""

import ast
import importlib
import importlib.util
import sys
import types
from pathlib import Path

from ..core import own_code
from ..core.dispatch import aten
from ..core.tensor.tensor import Tensor
from ..torch import home_of, public_name
from . import missing_report, torch_names
from .absent import AbsentFunction, absent_class, absent_error, absent_function, absent_value
from .suggestions import Hinted

__all__ = ["find", "loaded", "own", "source_of", "status", "theirs_of"]

MISSING = object()
_OUR_MODULES = (*own_code.MODULES, "rushlight_vision")
# what a name begins with, and what takes its place; the longest match counts
_SOURCES = {
    "torch": "rushlight",
    "torch.torch_version": "rushlight.torch.version",
    "torch._C._nn": "rushlight.alias.c_nn",
    "torch.nn.modules.utils": "rushlight.alias.ntuple",
    "torch._compile": "rushlight.torch.compiler",
    "torch._ops": "rushlight.core.dispatch.aten",
    "torch._vmap_internals": "rushlight.func._vmap_internals",
    "torch._tensor_str": "rushlight.core.tensor.printing",
    "torch.fx.experimental.proxy_tensor": "rushlight.torch._functorch.proxy_tensor",
    "torch.utils.data._utils.collate": "rushlight.utils.data.collate",
    "torch.utils.data._utils.fetch": "rushlight.utils.data.fetch",
    "torch.utils.data._utils.pin_memory": "rushlight.utils.data.pinning",
    "torch.utils.data._utils.worker": "rushlight.utils.data.worker",
    "torch.ops": None,  # namespaces of operators, see `_operator`; rushlight.ops is something else
    "torchvision": "rushlight_vision",
    "functorch": "rushlight.alias.functorch",
    "torchvision.version": "rushlight_vision.version",
    "torchvision.transforms.transforms": "rushlight_vision.transforms",
}
OPERATORS = ("torch.ops", "torch.classes")
_lazy = {}  # torch's module name -> the `__getattr__` that our module had before the alias gave it another
_stand_ins = {}  # path -> stand-in; a name has one
_absent_methods = set()


def source_of(name):
    """The Rushlight module that implements a torch name, or None for a name that is not one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if (start := ".".join(parts[:length])) in _SOURCES:
            source = _SOURCES[start]
            return source and home_of(".".join([source, *parts[length:]]))
    return None


def theirs_of(name):
    """torch's name of one of our modules."""
    name = public_name(home_of(name))
    for theirs, ours in sorted(_SOURCES.items(), key=lambda item: -len(item[1] or "")):
        if ours is None:
            continue
        if name == ours or name.startswith(ours + "."):
            return theirs + name[len(ours) :]
    return name


def exists(module):
    """Whether there is a module of this full name."""
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # its parent is a module, not a package
        return False


def loaded(module):
    """Our module behind torch's name, imported (under that name where the alias serves it); None where there is none."""
    source = source_of(module)
    if not source or not exists(source):
        return None
    if module != "torch" and "torch" in sys.modules:
        importlib.import_module(module)
    return importlib.import_module(source)


def own(module, name):
    """What Rushlight has under a name in torch's module, or MISSING."""
    ours = loaded(module)
    if ours is None:
        return MISSING
    value = vars(ours).get(name, MISSING)
    if value is MISSING:
        value = of_lazy(_lazy.get(module, ours.__dict__.get("__getattr__")), name)
    if isinstance(value, types.ModuleType) and value.__name__.startswith(_OUR_MODULES):
        return dressed(module, name, value)
    return value


def keep(name, getter):
    """Look names of torch's module `name` up by our module's own `__getattr__`, too (None: it has none)."""
    _lazy[name] = getter


def is_kept(name):
    """Whether `keep` was called for a module."""
    return name in _lazy


def of_lazy(getter, name):
    """What a module's `__getattr__` (None for a module without) gives for a name, or MISSING."""
    try:
        return MISSING if getter is None else getter(name)
    except AttributeError:
        return MISSING
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(own_code.MODULES):  # a name is listed, and its file is not there
            raise
        return MISSING


def dressed(module, name, value):
    """A module of ours as torch's users see it; MISSING for parts of Rushlight that are nothing to a program: `torch.core`.

    A package that torch knows as a function, `torch.compile`, is itself.
    """
    path = f"{module}.{name}"
    known = torch_names.of_module(module).get(name)
    if known is not None and known.kind == "f":
        return value
    if known is None and not torch_names.is_module(path):
        return MISSING
    return importlib.import_module(known.path if known is not None and known.kind == "m" else path)


class UnknownName(Hinted, AttributeError):
    """An AttributeError for a name that torch has not either: transformers asks 122 times for each model that it makes."""


def _unknown(message, module, name):
    return UnknownName(message, path=f"{module}.{name}", name=name, obj=sys.modules.get(module))


def find(module, name):
    """What `module.name` is for a program: ours, or a stand-in where torch alone has it.

    Raises AttributeError, with what comes near, for a name that torch has not either.
    """
    path = f"{module}.{name}"
    if name.startswith("__"):
        if name == "__path__" and torch_names.is_package(module):
            return []
        if path in ("torch.__config__", "torch.__future__"):
            return importlib.import_module(path)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    if module.startswith(OPERATORS):
        return _operator(module, name)
    value = own_by_any_path(module, name)
    if value is not MISSING:
        return value
    known = torch_names.of_module(module).get(name)
    if known is None and not torch_names.is_module(path):
        raise _unknown(f"module {module!r} has no attribute {name!r}", module, name)
    if known is None or known.kind == "m":
        place = known.path if known else path
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
            raise _unknown(str(error), module, name) from None
    key = known.path if known.kind in "ce" else path  # a class is the same under each of its names
    if key not in _stand_ins:
        _stand_ins[key] = _stand_in(known, path)
    stand_in = _stand_ins[key]
    if not isinstance(stand_in, types.FunctionType):  # that one answers, so it is not missing
        missing_report.note(path)
    return stand_in


def _load_library(path):
    """torch's error where a library cannot be loaded, which packages catch whose operators are optional."""
    raise OSError(f"Could not load this library: {path}. Rushlight does not have torch.ops.load_library")


def _operator(module, name):
    """torch's namespaces of operators: those of `torch.ops.aten` have the names of torch's functions."""
    if name == "load_library" and module == "torch.ops":
        return _load_library
    if name in ("load_library", "import_module"):
        return absent_function(f"{module}.{name}")
    if module in OPERATORS:
        namespace = sys.modules[f"{module}.{name}"] = type(sys.modules[module])(f"{module}.{name}")
        return namespace
    namespace = module.rpartition(".")[2]
    if module == "torch.ops.aten":
        function = own("torch", name)
        return aten.operator(name, function if callable(function) else None, _refused)
    value = _registered(namespace, name)
    if value is MISSING:
        raise AttributeError(
            f"'_OpNamespace' {namespace!r} object has no attribute {name!r}: Rushlight does not have it"
        )
    return value


def _refused(path):
    missing_report.note(path, "call")
    return absent_error(path)


def _registered(namespace, name):
    """An operator that the program has registered by `torch.library`, which is loaded then."""
    if namespace == "quantized":
        from ..nn.quantization.static import library as own_operators

        found = own_operators.OPERATORS.get(name)
        if found is not None:
            return found
    library = sys.modules.get("rushlight.torch.library")
    return (library and library.registered(namespace, name)) or MISSING


def own_by_any_path(module, name):
    """Ours under the name itself, under the path where torch's users find it, or under the one where torch defines it."""
    known = torch_names.of_module(module).get(name)
    places = [(module, name)]
    if known is not None and known.kind == "x":
        return _of_another_package(known.path)
    if known is not None and known.kind in "cef":
        places.append(known.path.rpartition(".")[::2])
        places.append(known.home.partition(":")[::2])
    elif known is not None and known.kind == "k":
        places.append(("torch", name))
    elif known is not None and known.kind == "v":  # a package shows the values of its modules
        places += [(package, name) for package in _packages_of(module) if name in torch_names.of_module(package)]
    for place in places:
        value = own(*place) if all(place) else MISSING
        if value is not MISSING:
            return placed(module, name, value)
    return MISSING


def _packages_of(module):
    """The packages around a module, the nearest first."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


def placed(module, name, value):
    """A class that names the place where torch defines it as its own; anything else as it is."""
    if isinstance(value, type) and value.__module__.startswith(own_code.MODULES):
        known = torch_names.of_module(module).get(name)
        home, _, qualified = known.home.partition(":") if known is not None else ("", "", "")
        if home and qualified == value.__qualname__:
            value.__module__ = home
    return value


def _of_another_package(path):
    module, _, name = path.partition(":")
    value = importlib.import_module(module)
    for part in filter(None, name.split(".")):
        value = getattr(value, part)
    return value


def _stand_in(known, path):
    if known.kind in "ce":
        return absent_class(known.path, known.home, known.base)
    return absent_function(path) if known.kind == "f" else absent_value(path, known.kind)


# methods


def is_absent_method(name):
    """Whether torch's Tensor alone has a method of this name."""
    return isinstance(vars(Tensor).get(name), AbsentFunction)


def add_absent_methods():
    """Give Tensor stand-ins for the methods that torch's has and ours has not."""
    for name, kind in (torch_names.of_class("torch.Tensor") or {}).items():
        if kind == "f" and not hasattr(Tensor, name):
            setattr(Tensor, name, AbsentFunction(f"torch.Tensor.{name}"))


# questions about a whole path


def status(path):
    """Whether a dotted name leads somewhere: "here", "absent" (torch alone has it) or "unknown" (torch has not either).

    A name of a module that needs a package is "here" where the package is missing, too.
    """
    try:
        return _status(path)
    except ModuleNotFoundError:
        return _status_by_source(path)


def _status(path):
    parts = path.split(".")
    module = parts[0]
    for i, name in enumerate(parts[1:], 1):
        if name.startswith("__"):
            return "here"
        if module in OPERATORS:
            return "absent"
        deeper = f"{module}.{name}"
        value = own_by_any_path(module, name)
        known = torch_names.of_module(module).get(name)
        if isinstance(value, types.ModuleType) or (value is MISSING and _names_module(deeper, known)):
            module = known.path if known is not None and known.kind == "m" else deeper
            continue
        if value is MISSING:
            return "absent" if known is not None else "unknown"
        found = _status_of_attributes(value, known, parts[i + 1 :])
        if found != "unknown" or not torch_names.is_module(deeper):
            return found
        module = deeper  # a function that hides the module of its name: `from` reaches the module all the same
    if loaded(module) is not None or (torch_names.is_module(module) and not is_hollow(module)):
        return "here"
    return "absent" if torch_names.is_module(module) else "unknown"


def _status_by_source(path):
    """`status` of a name of a module that cannot be imported here, by the module's text."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        text = _text_of(source_of(module) or "")
        if text is None:
            continue
        if length == len(parts) or parts[length] in _names_in(ast.parse(text)):
            return "here"
        return "absent" if torch_names.of_module(module).get(parts[length]) is not None else "unknown"
    raise ModuleNotFoundError(f"No module named {path!r}", name=path)


def _text_of(module):
    """The text of one of our modules, which is not imported for it; None where there is none."""
    package, _, rest = module.partition(".")
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return None
    base = Path(spec.origin).parent.joinpath(*filter(None, rest.split(".")))
    files = (base / "__init__.py", base.with_suffix(".py"))
    return next((file.read_text(encoding="utf-8") for file in files if file.is_file()), None)


def _names_in(tree):
    """The names that a module's statements bind."""
    found = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _names_module(path, known):
    return (known is not None and known.kind == "m") or (
        known is None and (torch_names.is_module(path) or loaded(path))
    )


def _status_of_attributes(value, known, names):
    for name in names:
        if not hasattr(value, name):
            theirs = torch_names.of_class(known.path) if known is not None and isinstance(value, type) else None
            return "absent" if theirs and name in theirs else "unknown"
        value = getattr(value, name)
        if isinstance(value, AbsentFunction):
            return "absent"
        known = None
    return "here"


def is_hollow(module):
    """Whether a module of torch's that has no counterpart here has classes and functions, and none of them is ours."""
    names = [name for name, known in torch_names.of_module(module).items() if known.kind in "cef"]
    return bool(names) and all(own_by_any_path(module, name) is MISSING for name in names)
