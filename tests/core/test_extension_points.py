"""A module puts nothing into another one but through the slots of `core/dispatch/extension_points.py`, which say the truth."""

import ast
import re
import threading
from collections.abc import Iterator

import pytest

from rushlight.core.dispatch import extension_points
from rushlight.core.dispatch.extension_points import Several, Slot, Table, ThreadSlot
from tools.layers import ROOT, files

FILES = files()
TEXTS = {f: (ROOT / f).read_text() for f in FILES}
MODULES = {f.removesuffix(".py").removesuffix("/__init__") for f in FILES}
SLOTS_FILE = "core/dispatch/extension_points.py"
# assigned to from other files, and what for: settings that users change, and classes whose methods are operators
OPEN = {
    "core/dispatch/mode.thread": "the modes of the calling thread: State's public fields",
    "core/determinism.mode": "the settings of use_deterministic_algorithms",
    "core/warn.Once": "the setting of set_warn_always",
    "amp/region.settings": "the settings of autocast",
    "compile/jit/step.settings": "the settings of torch._dynamo.config",
    "core/tensor/tensor.Tensor": "operators are methods, and each family of operators adds its own",
    "sparse/coo.SparseTensor": "likewise, in-place methods of sparse tensors",
    "distributed/process_group.ProcessGroup": "collectives, which take groups, are methods of groups too",
}


def _imported(nodes: list[ast.AST], file: str) -> dict[str, str]:
    """{name in the file: the module or object of the package that it is, as a path}."""
    package = file.split("/")[:-1]
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
            elif (node.module or "").split(".")[0] == "rushlight":
                base = []
            else:
                continue
            base = base + [part for part in (node.module or "").split(".") if part and part != "rushlight"]
            for a in node.names:
                path = "/".join([*base, a.name])
                names[a.asname or a.name] = path if path in MODULES else f"{'/'.join(base)}.{a.name}"
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "rushlight":
                    names[a.asname or "rushlight"] = "/".join(a.name.split(".")[1:]) if a.asname else ""
    return names


def _part(node: ast.expr, names: dict[str, str]) -> str | None:
    """What of the package an expression such as `engine.running[c].d` is a part of: the object `autograd/engine.running`."""
    first = None
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        first, node = node, node.value
    path = names.get(node.id) if isinstance(node, ast.Name) else None
    if path in MODULES and isinstance(first, ast.Attribute):
        return f"{path}.{first.attr}"
    return path


def _name(function: ast.expr) -> str:
    """The last part of what is called."""
    return getattr(function, "attr", getattr(function, "id", ""))


def intrusions(code: str, file: str) -> Iterator[tuple[int, str]]:
    """(line, what is changed) of each assignment in a file to a part of another module of the package."""
    nodes = list(ast.walk(ast.parse(code)))
    names = _imported(nodes, file)
    for node in nodes:
        changed: list[ast.expr] = []
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            changed = [node.value]
        elif isinstance(node, ast.Call) and node.args and _name(node.func).endswith(("setattr", "delattr")):
            changed = [node.args[0]]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            held = node.func.value
            changed = [held] if isinstance(held, ast.Attribute) else []
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            changed = [node.target.value]
        for expression in changed:
            part = _part(expression, names)
            if part is not None:
                yield node.lineno, part


_CHANGES = ("append", "extend", "insert", "update", "setdefault", "clear", "pop", "remove")


def test_nothing_is_put_into_other_modules():
    """And what is open has to be so."""
    found = [(file, line, what) for file, code in TEXTS.items() for line, what in intrusions(code, file)]
    closed = [f"{file}:{line}: changes {what}" for file, line, what in found if what not in OPEN]
    assert not closed, f"declare a slot in {SLOTS_FILE} and fill it with register(): " + "; ".join(closed)
    assert {what for _, _, what in found} == set(OPEN)


@pytest.mark.parametrize(
    "code",
    [
        "from ..autograd import engine\nengine.hook = f",
        "from ..autograd import engine\ndef g():\n    engine.running.programs = f",
        "from ..autograd import engine\nengine.running.waiting[1] = f",
        "from ..autograd.engine import running\nrunning.programs, x = f, 1",
        "from ..autograd import engine\nsetattr(engine, 'hook', f)",
        "from ..autograd import engine\nengine.hooks.append(f)",
        "from ..autograd import engine\nengine.hooks += [f]",
        "from ..autograd import engine\ndel engine.hook",
        "from ..autograd import engine\nclass A:\n    def __init__(self):\n        engine.hook: int = f",
        "import rushlight.autograd.engine as e\ne.hook = f",
        "from rushlight.autograd import engine\nfor engine.hook in f:\n    pass",
        "def g():\n    from rushlight.core.tensor.node import Node\n    Node.read_saved = f",
    ],
)
def test_the_test_sees(code):
    assert list(intrusions(code, "compile/api.py"))


@pytest.mark.parametrize(
    "code", ["import numpy\nnumpy.x = f", "from .engine import run\ny = run()\ny.x = f", "self.x = f"]
)
def test_the_test_leaves_alone(code):
    assert not list(intrusions(code, "autograd/backward.py"))


# ------------------------------------------------------------------------------------------------- the slots

KINDS = {"Slot": Slot, "ThreadSlot": ThreadSlot, "Several": Several, "Table": Table}


def _declared() -> dict[str, tuple[str, str]]:
    """{slot: (its type, the text below it)}."""
    body = ast.parse((ROOT / SLOTS_FILE).read_text()).body
    found = {}
    for node, text in zip(body, [*body[1:], None]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Subscript):
            doc = text.value.value if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) else ""
            found[node.target.id] = ast.unparse(node.annotation), doc
    return found


DECLARED = _declared()


def test_every_slot_is_declared_with_its_type():
    slots = {n for n, v in vars(extension_points).items() if isinstance(v, tuple(KINDS.values()))}
    assert slots == set(DECLARED) and len(slots) > 10
    for name, (annotation, _) in DECLARED.items():
        kind, _, what = annotation.partition("[")
        assert type(getattr(extension_points, name)) is KINDS[kind]
        assert what not in ("Any]", "object]", "Callable]"), name


def _files_in(text: str) -> list[str]:
    return re.findall(r"`([\w/]+\.py)`", text)


def _uses(name: str, members: tuple[str, ...]) -> set[str]:
    """The files that use one of a slot's members."""
    pattern, last = re.compile(rf"\b{name}\.({'|'.join(members)})\b"), name.rpartition("?")[2]
    return {f for f, text in TEXTS.items() if last in text and pattern.search(text)}


@pytest.mark.parametrize("name", DECLARED)
def test_a_slot_says_who_reads_and_who_fills_it(name):
    _, text = DECLARED[name]
    before, _, filled = text.partition("Filled by")
    readers, fillers = _files_in(before.partition("Read by")[2]), _files_in(filled)
    assert "Costs: " in text
    fillers = [f.removeprefix("rushlight/") for f in fillers]
    assert _uses(name, ("value", "values")) - {SLOTS_FILE} == set(readers)
    assert _uses(f"(_?extension_points\\.)?_?{name}", ("register",)) - {SLOTS_FILE} == set(fillers)


def test_slots():
    slot: Slot[int] = Slot()
    assert slot.value is None
    slot.register(3)
    slot.register(4)
    assert slot.value == 4
    slot.register(None)
    assert slot.value is None
    several: Several[int] = Several()
    several.register(1, 2)
    several.register(3)
    assert several.values == [1, 2, 3]


def test_a_slot_of_each_thread():
    slot: ThreadSlot[int] = ThreadSlot()
    slot.register(1)
    seen = []

    def other():
        seen.append(slot.value)
        slot.register(2)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [None] and slot.value == 1
