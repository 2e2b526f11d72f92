"""Writes rushlight/alias/torch_names.bin: the names of torch 2.13 and torchvision 0.28, what each is and where it is defined.

Run with an interpreter that has both: `python tests/golden/make_torch_names.py`. Only names and kinds are taken. The file
is read by rushlight/alias/torch_names.py, whose docstring describes it.
"""

import ast
import enum
import importlib
import struct
import sys
import types
import warnings
import zlib
from pathlib import Path

warnings.simplefilter("ignore")

import torch  # noqa: E402

_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):  # torchvision can be imported without its compiled operators when these are known
    _LIBRARY.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torchvision  # noqa: E402

OUT = Path(__file__).parents[2] / "rushlight" / "alias" / "torch_names.bin"
ROOTS = ("torch", "torchvision")
OWN_BLOCKS = (
    "torch",
    "torch.nn",
    "torch.optim",
    "torch.utils",
    "torch.autograd",
    "torch.cuda",
    "torch._C",
    "torchvision",
)
PRIVATE = [
    "torch._C", "torch._dynamo", "torch._dynamo.config", "torch._inductor", "torch._inductor.config",
    "torch._functorch", "torch._jit_internal", "torch._linalg_utils", "torch._lowrank", "torch._logging",
    "torch._namedtensor_internals", "torch._ops", "torch._prims_common", "torch._refs", "torch._sources",
    "torch._storage_docs", "torch._subclasses", "torch._tensor", "torch._tensor_str", "torch._utils",
    "torch._vmap_internals", "torch._weights_only_unpickler", "torchvision._internally_replaced_utils",
    "torchvision._utils",
]  # fmt: skip
PRIVATE_BELOW = ("autograd", "cuda", "distributed", "jit", "nn", "optim", "utils", "datasets", "models", "transforms")
CONSTANTS = (torch.dtype, torch.layout, torch.memory_format, torch.qscheme, enum.Enum)


def main():
    names = {module: entries(sys.modules[module]) for module in sorted(modules())}
    homes = {value.__module__ for found in names.values() for value in found.values() if is_class(value)}
    for module in sorted(homes - names.keys()):
        if inside(module) and load(module):
            names[module] = entries(sys.modules[module])
    public = canonical_paths(names)
    sections = {module: section(module, found, public) for module, found in names.items()}
    for module, path in sorted({**files("torch"), **files("torchvision")}.items()):
        if module not in names and is_importable(module, path):
            sections[module] = section_from_source(module, path, public)
    classes = {id(v): v for found in names.values() for v in found.values() if is_class(v)}
    described = [class_section(cls, public) for cls in classes.values() if not is_private(public[id(cls)])]
    write(
        {
            **index_and_sections(sections),
            "classes": "\n" + "\n".join(sorted(described, key=lambda part: part.splitlines()[0])),
            "Tensor": "\n" + class_section(torch.Tensor, public),
        }
    )
    print(f"{len(sections)} modules, {sum(map(len, names.values()))} names, {OUT.stat().st_size} bytes")


def index_and_sections(sections):
    """The blocks of the modules' sections, and before them the block "index" that says where each is."""
    text, lines = {}, []
    for module in sorted(sections):
        block = block_of(module)
        lines.append(index_line(module, len(text.get(block, "")), sections))
        text[block] = text.get(block, "") + sections[module]
    return {"index": "\n".join(lines), **text}


def index_line(module, offset, sections):
    conflicts, here, elsewhere = [], [], []
    for kind, name, *details in map(str.split, sections[module].splitlines()):
        if kind[0] in "fv" and f"{module}.{name}" in sections:
            conflicts.append(name)
        if kind[0] in "ce" and not name.startswith("_"):
            home, _, qualified = details[1].partition(":")
            if qualified == name and home == module:
                here.append(name)
            elif qualified == name and details[0] == f"{module}.{name}":
                elsewhere.append(f"{name}={home}")
    lists = (",".join(found) or "-" for found in (conflicts, here, elsewhere))
    return " ".join([module, str(offset), str(len(sections[module])), *lists])


# which modules


def modules():
    """The modules that can be imported: public ones, the private ones that programs name, and the compiled ones."""
    found = {name for root in ROOTS for name in files(root) if is_wanted(name) and load(name)}
    found |= {name for name in sys.modules if name.startswith("torch._C") and load(name)}
    return found | {name for name, module in list(sys.modules.items()) if is_other_name(name, module)}


def is_other_name(name, module):
    """Whether a name in `sys.modules` is another one of a module, such as torch.distributed._tensor.api."""
    own = attribute(module, "__name__")
    return inside(name) and type(module) is types.ModuleType and own != name and own in sys.modules and inside(own)


def files(root):
    """{dotted name: path} of the Python files below a package."""
    folder = Path(sys.modules[root].__file__).parent
    found = {}
    for path in folder.rglob("*.py"):
        parts = (root, *path.relative_to(folder).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def section_from_source(module, path, public):
    """The section of a module that cannot be imported here, for want of a library, or is private: its names."""
    lines = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            lines.append(f"c {node.name} {module}.{node.name} {module}:{node.name}")
        elif isinstance(node, ast.FunctionDef):
            lines.append(f"f {node.name} {module}.{node.name}")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = {t.id for t in targets if isinstance(t, ast.Name) and not t.id.startswith("__")}
            lines += [f"v {name}" for name in sorted(named)]
        elif isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            home = f"{module if path.stem == '__init__' else module.rpartition('.')[0]}.{node.module}"
            lines += [f"c {a.name} {home}.{a.name} {home}:{a.name}" for a in node.names if a.name[0].isupper()]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and inside(node.module):
            lines += [imported(module, node.module, a, public) for a in node.names if a.name != "*"]
    return "".join(line + "\n" for line in lines)


def imported(module, source, alias, public):
    """The line of a name that a module imports from another one of torch's."""
    name = alias.asname or alias.name
    value = attribute(sys.modules.get(source), alias.name)
    if value is None:
        return f"f {name} {source}.{alias.name}"
    if (is_class(value) or is_function(value)) and id(value) not in public:
        public = public | {id(value): f"{source}.{alias.name}"}
    kind, *details = describe(module, name, value, public)
    return " ".join([kind, name, *details])


def is_wanted(name):
    parts = name.split(".")
    private = [i for i, part in enumerate(parts) if part.startswith("_")]
    return name in PRIVATE or not private or (private[0] > 1 and parts[1] in PRIVATE_BELOW and "_internal" not in parts)


def is_importable(name, path):
    """Whether a program may import a file: its folders are packages, it is no script, and this Python can read it."""
    folders = path.parents[: name.count(".") + (path.stem == "__init__")]
    if path.stem == "__main__" or not all((folder / "__init__.py").exists() for folder in folders):
        return False
    try:
        ast.parse(path.read_text())
    except SyntaxError:
        return False
    return True


def load(name):
    try:
        importlib.import_module(name)
    except BaseException as error:
        print(f"left out: {name} ({type(error).__name__}: {str(error)[:60]})")
        return False
    return isinstance(sys.modules[name], types.ModuleType)


def entries(module):
    """{name: value} of a module."""
    found = {}
    for name in sorted({*vars(module), *dir(module)}):
        if not name.startswith("__") and name.isidentifier():
            try:
                found[name] = getattr(module, name)
            except Exception:
                continue
    return found


def inside(module):
    return isinstance(module, str) and module.partition(".")[0] in ROOTS


def attribute(value, name):
    try:
        return getattr(value, name, None)
    except Exception:  # objects that ask a device first
        return None


def is_class(value):
    return isinstance(value, type) and inside(attribute(value, "__module__"))


def is_function(value):
    if isinstance(value, type) or not callable(value) or isinstance(value, types.ModuleType):
        return False
    plain = isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) or hasattr(value, "__wrapped__")
    home = attribute(value, "__module__")
    return plain and (home is None or inside(home))


# what each name is


def canonical_paths(names):
    """{id of a class or function: the path under which users know it}: short, without private parts."""
    paths = {}
    for module, found in names.items():
        for name, value in found.items():
            if is_class(value) or is_function(value):
                paths.setdefault(id(value), []).append((f"{module}.{name}", value))
    return {key: min((path for path, _ in known), key=cost) for key, known in paths.items()}


def cost(path):
    parts = path.split(".")
    return sum(part.startswith("_") for part in parts), len(parts), path


def is_private(path):
    return any(part.startswith("_") for part in path.split("."))


def section(module, found, public):
    shown = getattr(sys.modules[module], "__all__", None)
    shown = set(shown) if isinstance(shown, (list, tuple, set)) else set()
    lines = []
    for name, value in found.items():
        kind, *details = describe(module, name, value, public)
        lines.append(" ".join([kind + "*" * (name in shown), name, *details]) + "\n")
    return "".join(lines)


def describe(module, name, value, public):
    """Kind and details of a name, in the letters of rushlight/alias/torch_names.py."""
    path = f"{module}.{name}"
    if isinstance(value, types.ModuleType):
        known = value.__name__ if isinstance(value.__name__, str) else path
        known = path if path in sys.modules and sys.modules[path] is value else known
        return ("m", known) if inside(known) else ("x", known)
    if is_class(value):
        home = f"{value.__module__}:{value.__qualname__}"
        if issubclass(value, BaseException):
            base = next(c.__name__ for c in value.__mro__ if c.__module__ == "builtins")
            return "e", public[id(value)], home, base
        return "c", public[id(value)], home
    if is_function(value):
        return "f", public[id(value)]
    if isinstance(value, CONSTANTS):
        return ("k",)
    home, qualified = attribute(value, "__module__"), attribute(value, "__qualname__")
    if isinstance(home, str) and isinstance(qualified, str) and home.partition(".")[0] in sys.stdlib_module_names:
        return "x", f"{home}:{qualified}"
    return ("f", path) if callable(value) and not isinstance(home, str) else ("v",)


def class_section(cls, public):
    """The class's own attributes, and the classes from which it has more."""
    bases = [base for base in cls.__mro__[1:] if not is_private(public.get(id(base), "_"))]
    lines = [" ".join(["{" + public[id(cls)] + "}", *(public[id(base)] for base in bases)])]
    hidden = [base for base in cls.__mro__[1:] if base not in bases and inside(base.__module__)]  # e.g. TensorBase
    for name in sorted({name for part in (cls, *hidden) for name in vars(part)}):
        if not name.startswith("_") and name.isidentifier():
            lines.append(f"{attribute_kind(cls, name)} {name}")
    return "\n".join(lines)


def attribute_kind(cls, name):
    value = next(vars(part)[name] for part in cls.__mro__ if name in vars(part))
    if isinstance(value, (staticmethod, classmethod)):
        return "f"
    reached = attribute(cls, name)
    if isinstance(reached, CONSTANTS) or (inside(type(reached).__module__) and not callable(reached)):
        return "k"
    return "f" if callable(value) else "v"


# the file


def block_of(module):
    parts = module.split(".")
    if parts[0] == "torchvision":
        return "torchvision"
    name = ".".join(parts[:2])
    return name if name in OWN_BLOCKS else "other"


def write(text):
    blocks = {name: zlib.compress(part.encode(), 9) for name, part in text.items()}
    index = "\n".join(f"{name} {len(data)}" for name, data in blocks.items()).encode()
    OUT.write_bytes(struct.pack("<I", len(index)) + index + b"".join(blocks.values()))


if __name__ == "__main__":
    assert torch.__version__.startswith("2.13.") and torchvision.__version__.startswith("0.28.")
    main()
