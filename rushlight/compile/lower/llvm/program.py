"""A list of steps as one native call.

Every step is a native function `i32 step(ptr data)` with an array of pointers and numbers of its own. Running a program
fills in the pointers that differ from run to run and calls the steps in order; a step's status other than 0 stops it. The
function that does so is the same for every program, so that thousands of steps cost no compile time; a kernel is
compiled once in a process for each structure of nests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ....core import poison
from ....core.foreign import ctypes
from ....core.locks import made_once
from ...ir.expression import Expr, const
from ...ir.graph import Loop, Nest, Reduce, Store, Value
from ...ir.locations import Place
from . import engine, nest, parallel

_STEP_BITS = 32  # a program's status: the step's number + 1 above, the step's own status below


class StepError(RuntimeError):
    """A step of a native program failed; the message names it."""


class Program:
    """Steps that are added one by one; `finish` compiles them. arena: the address to which "arena" offsets count."""

    def __init__(self, arena: int = 0, check: bool | None = None):
        self.arena = arena
        self.check = os.environ.get("RUSHLIGHT_CHECK", "0") == "1" if check is None else check
        self._steps: list[_Step] = []
        self._keep: list[Any] = []

    def __len__(self) -> int:
        return len(self._steps)

    def launch(
        self, node: Nest | Loop | Reduce, places: Mapping[Value, Place] | Callable[[Value], Place], name: str = ""
    ) -> None:
        """Run a kernel. places: where each of its values is stored, local ones aside."""
        if _is_empty(node):
            return
        values = nest.values_of(node)
        where = places.__getitem__ if isinstance(places, Mapping) else places
        data = [("status",), ("scratch",), *(where(v) for v in values)]
        shown = name or f"{type(node).__name__.lower()} {list(node.outer if isinstance(node, Nest) else node.space)}"
        self._steps.append(_Step(node, data, shown, values))

    def execute(self, primitive: int, stream: int, n_args: int, args_address: int, name: str = "primitive") -> None:
        """Run a oneDNN primitive with prepared arguments."""
        if not parallel.pool():
            raise RuntimeError("oneDNN is not available")
        data = [("address", primitive), ("address", stream), ("address", n_args), ("address", args_address)]
        self._steps.append(_Step("execute", data, name, ()))

    def call(self, address: int, *arguments: int | Place, name: str = "call", status: bool = False) -> None:
        """Call a native function of up to 16 integers or pointers (numbers or places).

        status: whether it returns an int that is not 0 where it fails; else what it returns is ignored.
        """
        if len(arguments) > _MOST_ARGUMENTS:
            raise ValueError(f"a native call takes at most {_MOST_ARGUMENTS} arguments, got {len(arguments)}")
        data: list[Place] = [("address", address)]
        data += [a if isinstance(a, tuple) else ("address", int(a)) for a in arguments]
        data += [("address", 0)] * (_MOST_ARGUMENTS - len(arguments))
        self._steps.append(_Step("check" if status else "call", data, name, ()))

    def copy(self, target: Place, source: Place, nbytes: int, name: str = "copy") -> None:
        """Copy bytes; the two must not overlap."""
        if nbytes <= 0:
            return
        if nbytes < 1 << 18:
            self._steps.append(_Step("copy", [target, source, ("address", nbytes)], name, ()))
            return
        word = np.int64 if nbytes % 8 == 0 else np.uint8
        count = nbytes // np.dtype(word).itemsize
        x, y = Value((count,), word), Value((count,), word)
        self.launch(Loop((count,), [Store(y.ref(), Expr("load", (), word, x.ref()))]), {x: source, y: target}, name)

    def fill(self, target: Place, count: int, value: Any, dtype: Any, name: str = "fill") -> None:
        """Write `count` times a number of type `dtype`."""
        y = Value((count,), dtype)
        self.launch(Loop((count,), [Store(y.ref(), const(value, dtype))]), {y: target}, name)

    def finish(self) -> Executable:
        """The executable program. Kernels that this process has not compiled yet are compiled, together."""
        nodes = [s.function for s in self._steps if not isinstance(s.function, str)]
        kernels = iter(compile_kernels(nodes, self.check))
        return Executable(self, [s.function if isinstance(s.function, str) else next(kernels) for s in self._steps])


class _Step(NamedTuple):
    function: Any  # a node, or the name of a fixed function
    data: list[Place]
    name: str
    values: Sequence[Value]


class Executable:
    """A compiled program. Not to be run by two threads at a time: its arena and scratch memory are its own."""

    def __init__(self, program: Program, functions: list[Any]):
        self._steps, self._keep = program._steps, [program, functions]
        self._status = np.zeros(1, np.int64)
        scratch_bytes = max((f.scratch_bytes for f in functions if not isinstance(f, str)), default=0)
        scratch = np.zeros(scratch_bytes // 8 + 9, np.int64)
        self._keep.append(scratch)
        self._scratch = scratch if poison.on else None  # what a check build fills before each run
        special = {"status": self._status.ctypes.data, "scratch": -(-scratch.ctypes.data // 64) * 64}
        data: list[int] = []
        patches: list[tuple[int, int, int]] = []
        starts: list[int] = []
        for step in self._steps:
            starts.append(len(data))
            for place in step.data:
                if place[0] == "table":
                    patches.append((len(data), place[1], place[2] if len(place) > 2 else 0))
                    data.append(0)
                else:
                    data.append(special[place[0]] if place[0] in special else _address(place, program.arena))
        self._data = np.array(data or [0], np.uint64).view(np.int64)
        base = self._data.ctypes.data
        self._patches = np.array([(base + 8 * slot, 8 * i, o) for slot, i, o in patches] or [(0, 0, 0)], np.int64)
        addresses = [_fixed().address(f) if isinstance(f, str) else f.address for f in functions]
        self._plan = np.array([(a, base + 8 * s) for a, s in zip(addresses, starts, strict=True)] or [(0, 0)], np.int64)
        self._arguments = (len(patches), self._patches.ctypes.data, len(self._steps), self._plan.ctypes.data)
        self._main = _MAIN(_fixed().address("run"))

    def run(self, table_address: int = 0) -> int:
        """Run all steps with the pointers of the table (int64). 0, or a status that `describe` explains."""
        self._status[0] = 0
        if self._scratch is not None:
            poison.fill(self._scratch)
        return self._main(table_address, *self._arguments)

    def __call__(self, table_address: int = 0) -> None:
        """Like `run`; raises StepError where a step fails."""
        status = self.run(table_address)
        if status:
            raise StepError(self.describe(status))

    def describe(self, status: int) -> str:
        """What a status of `run` means."""
        if not status:
            return "success"
        index, code = (status >> _STEP_BITS) - 1, status & 0xFFFFFFFF
        step = self._steps[index]
        if isinstance(step.function, str):
            return f"step {index} ({step.name}) returned {code}"
        value = repr(step.values[code - 1]) if code <= len(step.values) else "a local value"
        return f"step {index}, kernel {step.name}: an access outside {value}\n  {step.function!r}"


def _is_empty(node: Nest | Loop | Reduce) -> bool:
    """Whether it has no point to run at. A reduction over nothing still has a result."""
    if isinstance(node, Loop):
        return 0 in node.space
    if isinstance(node, Reduce):
        return 0 in (node.space[i] for i in node.kept())
    idle = all(isinstance(s, Loop) and 0 in s.space for s in node.stages)
    return idle or 0 in node.outer


def _address(place: Place, arena: int) -> int:
    kind, number = place[0], int(place[1])
    if kind == "arena":
        return arena + number
    if kind == "address":
        return number & ((1 << 64) - 1)
    raise ValueError(f"a place is ('arena', offset), ('table', index) or ('address', number), not {place!r}")


# ------------------------------------------------------------------------------------------------ kernels


@dataclass(eq=False, slots=True, weakref_slot=True)
class _Compiled:
    address: int
    scratch_bytes: int
    code: engine.Code


_compiled = engine.Shared(recent=512)  # ResNet-18's step has 46 kernels, DCGAN's 120
_number = count()


def compile_kernels(nodes: Sequence[Nest | Loop | Reduce], check: bool = False) -> list[_Compiled]:
    """A kernel for each node; nodes of one structure share it."""
    keys = [(structure(node), check, parallel.pool()) for node in nodes]
    found = {key: _compiled.get(key) for key in keys}
    new = {key: node for key, node in zip(keys, nodes, strict=True) if found[key] is None}
    found.update(_compile(new, check))
    return [found[key] for key in keys]


def _compile(new: dict[tuple, Any], check: bool) -> dict[tuple, Any]:
    if not new:
        return {}
    kernels = [nest.emit(node, f"k{next(_number)}", check) for node in new.values()]
    code = engine.build(assembly(kernels, check))
    made = {
        key: _Compiled(code.address(f"{kernel.name}_entry"), kernel.scratch_bytes, code)
        for key, kernel in zip(new, kernels, strict=True)
    }
    return {key: _compiled.add(key, compiled) for key, compiled in made.items()}


def assembly(kernels: Sequence[nest.Kernel], check: bool = False) -> str:
    """A module of kernels with their entries."""
    declarations: dict[str, str] = {}
    for kernel in kernels:
        declarations.update(kernel.declarations)
    parts = [parallel.DECLARATIONS, *declarations.values(), *(k.text + parallel.entry(k, check) for k in kernels)]
    return "\n".join([*parts, engine.attributes()])


def structure(node: Nest | Loop | Reduce) -> tuple:
    """What decides a kernel's code: shapes, strides, types, expressions; values by order of appearance only."""
    values: dict[Value, int] = {}
    local = node.local if isinstance(node, Nest) else ()

    def window(ref: Any) -> tuple:
        v = ref.value
        if v not in values:
            values[v] = len(values)
        return values[v], v.dtype, v.size, ref.shape, ref.strides, ref.offset, v in local

    def expression(root: Expr) -> tuple:
        place: dict[int, int] = {}
        out = []
        for e in root.walk():
            place[id(e)] = len(place)
            data = e.data
            if e.op in ("load", "gather"):
                data = window(data)
            elif e.op == "const":
                data = np.asarray(data, e.dtype).tobytes()
            out.append((e.op, e.dtype, data, tuple(place[id(a)] for a in e.args)))
        return tuple(out)

    def stage(s: Loop | Reduce) -> tuple:
        if isinstance(s, Reduce):
            return s.space, s.axes, s.kind, tuple(s.strides), expression(s.expr), window(s.result.ref())
        return s.space, tuple((expression(t.expr), window(t.ref)) for t in s.stores)

    if isinstance(node, Nest):
        return node.outer, node.inner, tuple(stage(s) for s in node.stages)
    return (stage(node),)


# ------------------------------------------------------------------------------------------------ fixed functions

_MOST_ARGUMENTS = 16
_MAIN = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)


@made_once
def _fixed() -> engine.Code:
    """The functions that are the same in every program."""
    execute = _EXECUTE if parallel.pool() else ""
    return engine.build(_RUN + _call(False) + _call(True) + execute + engine.attributes(), optimise=False)


def _call(status: bool) -> str:
    """A native function whose address and arguments are in data. One that takes fewer does not look at the others."""
    n = _MOST_ARGUMENTS
    loads = "".join(
        f"  %p{i} = getelementptr i64, ptr %data, i64 {i}\n  %a{i} = load i64, ptr %p{i}\n" for i in range(n + 1)
    )
    arguments = ", ".join(f"i64 %a{i}" for i in range(1, n + 1))
    call = f"%status = call i32 %f({arguments})" if status else f"call void %f({arguments})"
    return f"""
define i32 @{"check" if status else "call"}(ptr %data) #0 {{
{loads}  %f = inttoptr i64 %a0 to ptr
  {call}
  ret i32 {"%status" if status else "0"}
}}
"""


_RUN = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i64 @run(ptr %table, i64 %patches, ptr %patch, i64 %steps, ptr %step) #0 {
entry:
  %some = icmp ne i64 %patches, 0
  br i1 %some, label %fill, label %ready
fill:
  %i = phi i64 [ 0, %entry ], [ %i1, %fill ]
  %row = mul i64 %i, 3
  %slot.p = getelementptr i64, ptr %patch, i64 %row
  %index.p = getelementptr i64, ptr %slot.p, i64 1
  %offset.p = getelementptr i64, ptr %slot.p, i64 2
  %slot = load ptr, ptr %slot.p
  %index = load i64, ptr %index.p
  %offset = load i64, ptr %offset.p
  %from = getelementptr i8, ptr %table, i64 %index
  %base = load i64, ptr %from
  %full = add i64 %base, %offset
  store i64 %full, ptr %slot
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %patches
  br i1 %more, label %fill, label %ready
ready:
  %any = icmp ne i64 %steps, 0
  br i1 %any, label %go, label %done
go:
  %k = phi i64 [ 0, %ready ], [ %k1, %next ]
  %k2 = shl i64 %k, 1
  %f.p = getelementptr i64, ptr %step, i64 %k2
  %d.p = getelementptr i64, ptr %f.p, i64 1
  %f = load ptr, ptr %f.p
  %d = load ptr, ptr %d.p
  %status = call i32 %f(ptr %d)
  %k1 = add i64 %k, 1
  %bad = icmp ne i32 %status, 0
  br i1 %bad, label %failed, label %next
next:
  %again = icmp ult i64 %k1, %steps
  br i1 %again, label %go, label %done
failed:
  %low = zext i32 %status to i64
  %high = shl i64 %k1, 32
  %code = or i64 %high, %low
  ret i64 %code
done:
  ret i64 0
}

define i32 @copy(ptr %data) #0 {
  %s.p = getelementptr i64, ptr %data, i64 1
  %n.p = getelementptr i64, ptr %data, i64 2
  %to = load ptr, ptr %data
  %from = load ptr, ptr %s.p
  %n = load i64, ptr %n.p
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret i32 0
}
"""

_EXECUTE = """
declare i32 @dnnl_primitive_execute(ptr, ptr, i32, ptr)

define i32 @execute(ptr %data) #0 {
  %s.p = getelementptr i64, ptr %data, i64 1
  %n.p = getelementptr i64, ptr %data, i64 2
  %a.p = getelementptr i64, ptr %data, i64 3
  %primitive = load ptr, ptr %data
  %stream = load ptr, ptr %s.p
  %n = load i64, ptr %n.p
  %n32 = trunc i64 %n to i32
  %arguments = load ptr, ptr %a.p
  %status = call i32 @dnnl_primitive_execute(ptr %primitive, ptr %stream, i32 %n32, ptr %arguments)
  ret i32 %status
}
"""
__all__ = ["Executable", "Program", "StepError", "compile_kernels", "structure"]
