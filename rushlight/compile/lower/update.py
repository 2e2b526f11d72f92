"""Native code of a traced update: one function that updates all parameters of a group.

    int32_t step(int64_t *block)

does the whole step. `block` has 10 words:

    0  pointers   address of the arrays' addresses, an int64 [roles, parameters] (the roles in the order of the update)
    1  counts     address of the numbers of elements, an int64 [parameters]
    2  the number of parameters
    3  scalars    address of the numeric options, a float64 [options] (in the order of `Update.options`)
    4  scratch    address of room for `row_words` words for each parameter
    5  threads    1, or how many threads of the pool share the work
    6  total      the sum of all counts
    7  to 9       addresses of GOMP_parallel, omp_get_thread_num and omp_get_num_threads; read if threads > 1

Arrays of one parameter (but for counters) are dense, in one order of their axes, and nothing that is written overlaps
anything else. It returns 0; or 1 if a guard of the update does not hold, or 2 if a number has no value in Python either
(a division by zero, a root of a negative number): then nothing has been written.

The numbers are worked out first, for one parameter after the other, since they may depend on its counters: a row of
scratch gets which leaf of the update's tree applies, the numbers that its loop needs (in the arrays' type), and the new
counters. The loops over elements follow. Threads share the elements, so that they share a large parameter too.

The results are the bits that the update gives over arrays; or, by quicker arithmetic, the same to rounding (`fast_math.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import isa
from ...core.foreign import ctypes
from ..ir.expression import Expr
from ..ir.graph import Value
from ..ir.scalar_ops import cost
from ..jit.update import Branch, Leaf, Tree, Update
from . import fast_math
from .llvm import arithmetic
from .llvm.arithmetic import constant, register
from .llvm.emitters import libm
from .llvm.engine import Code, attributes, available, build, vector_bytes
from .llvm.ir import Builder, Val, number
from .reciprocals import Divisor, multiply_all, multiply_roots, scalars

BLOCK_WORDS = 10
GUARD_MISSED, NO_VALUE = 1, 2
_F32 = np.dtype(np.float32)
_FLUSH = 0x8040  # of MXCSR: results, and operands, below the smallest normal number are zero
_FLUSH_ON_ARM = 1 << 24  # of FPCR: likewise
_CHUNK = 1024  # elements: threads share them in multiples of this


class Kernel:
    """The native code of an update: the same bits as over arrays, or the `quick` variant.

    flush: numbers below the smallest normal one count as zero.

    address: of `step`. row_words: words of scratch for each parameter. weight: how much work an element is, in units of
    a load or a store.
    """

    __slots__ = ("update", "address", "row_words", "weight", "call", "_code")

    def __init__(self, update: Update, quick: bool = False, flush: bool = False):
        if not available():
            raise RuntimeError("native code of an update needs llvmlite")
        self.update = update
        update, divisors = multiply_all(update) if quick else multiply_roots(update)
        rows = _Rows(update, divisors, quick)
        self.row_words = rows.words
        self.weight = max(
            _weight(update, leaf, hoisted, quick) for leaf, hoisted in zip(rows.leaves, rows.hoisted, strict=True)
        )
        self._code: Code = build(_assembly(update, rows, flush))
        self.address = self._code.address("step")
        self.call: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.address)


class _Rows:
    """What a parameter's row of scratch holds: the leaf, the leaf's numbers, and the new values of all counters."""

    def __init__(self, update: Update, divisors: dict[int, Divisor], quick: bool):
        self.leaves, self.divisors, self.quick = update.leaves(), divisors, quick
        self.hoisted = [_hoisted(leaf, update, scalars(update)) for leaf in self.leaves]
        self.counters = [r for r in update.written() if update.roles[r].counter]
        self.counters_at = 1 + max(map(len, self.hoisted))
        self.words = self.counters_at + len(self.counters)


def _hoisted(leaf: Leaf, update: Update, scalars: set[Value]) -> list[Expr]:
    """The largest parts of the leaf's expressions over elements that are the same for all elements."""
    found: dict[int, Expr] = {}

    def visit(e: Expr) -> None:
        if e.op == "const":
            return
        if all(ref.value in scalars for ref in e.loads()):
            found[id(e)] = e
        else:
            for a in e.args:
                visit(a)

    for role, expr in leaf.stores.items():
        if not update.roles[role].counter:
            visit(expr)
    return list(found.values())


def _weight(update: Update, leaf: Leaf, hoisted: list[Expr], quick: bool) -> int:
    """How much one element costs: loads, stores, divisions and roots. The quick variant has fewer of these."""
    slow = {"div": 3, "sqrt": 0} if quick else {op: cost(op) for op in ("div", "sqrt")}
    stores = [expr for role, expr in leaf.stores.items() if not update.roles[role].counter]
    seen, weight = {id(e) for e in hoisted}, len(stores)
    stack = list(stores)
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            weight += slow.get(e.op, e.op == "load")
            stack.extend(e.args)
    return weight


def _assembly(update: Update, rows: _Rows, flush: bool) -> str:
    declarations: dict[str, str] = {}
    functions = [_body(update, rows, i, declarations) for i in range(len(rows.leaves))]
    functions += [_work(update, rows, declarations, flush), _share(declarations), _step(update, rows, declarations)]
    return "\n".join([*declarations.values(), *functions, attributes()])


# ------------------------------------------------------------------------------------------------ expressions


def _emit_quick(b: Builder, e: Expr, known: dict[int, Val]) -> Val:
    """As `_emit`, by quick code where there is such."""
    if id(e) not in known and e.op not in ("const", "load"):
        args = [_emit_quick(b, a, known) for a in e.args]
        is_root = e.op == "sqrt" and e.dtype == _F32
        known[id(e)] = fast_math.root(b, *args) if is_root else _operate(b, e, args, None)
    return _emit(b, e, known)


def _emit(b: Builder, e: Expr, known: dict[int, Val], faults: list[Val] | None = None) -> Val:
    """The value of an expression whose loads are in `known`; conditions under which it has none go to `faults`."""
    if id(e) not in known:
        args = [_emit(b, a, known, faults) for a in e.args]
        known[id(e)] = constant(e.data, e.dtype) if e.op == "const" else _operate(b, e, args, faults)
    return known[id(e)]


def _operate(b: Builder, e: Expr, args: list[Val], faults: list[Val] | None) -> Val:
    source = e.args[0].dtype
    if e.op == "cast":
        return arithmetic.cast(b, args[0], source, e.dtype)
    # Python's own power is libm's: the result must be the same to the last bit
    value = libm(b, "pow", *args) if e.op == "pow" else arithmetic.operate(b, e.op, args, source, e.dtype)
    if faults is not None and e.op == "div":
        faults.append(b.compare("fcmp oeq", args[1], 0.0))
    if faults is not None and e.op == "pow":
        faults.append(b.op("xor", b.compare("fcmp olt", b.intrinsic("fabs", value), float("inf")), True))
    return value


def _loads(exprs: list[Expr], values: set[Value]) -> list[Expr]:
    """The expressions that load one of `values`, each once."""
    found = {id(e): e for expr in exprs for e in expr.walk() if e.op == "load" and e.data.value in values}
    return list(found.values())


# ------------------------------------------------------------------------------------------- loops over elements


def _body(update: Update, rows: _Rows, index: int, declarations: dict[str, str]) -> str:
    """void body<index>(arrays..., row, start, stop): one leaf's loop over a part of one parameter."""
    b = Builder(declarations)
    dtype = update.roles[0].value.dtype
    lanes = vector_bytes() // max(dtype.itemsize, 4)  # short floats are float32 in registers
    start, stop = Val("%start", "i64"), Val("%stop", "i64")
    known: dict[int, Val] = {}
    for k, e in enumerate(rows.hoisted[index]):
        slot = b.emit(f"getelementptr i64, ptr %row, i64 {1 + k}", "ptr")
        known[id(e)] = b.splat(b.load(register(e.dtype), 0, slot.text, 8), lanes)
    elements = _Elements(b, update, rows.leaves[index], known, rows.quick)
    plain, masked = _Plain(b, dtype, lanes), _Masked(b, dtype, lanes)
    for step in (fast_math.UNROLL * lanes, lanes) if rows.quick else (lanes,):
        with b.loop(start, b.op("sub", stop, step - 1), step) as i:
            elements.write(plain, [b.op("add", i, k) for k in range(0, step, lanes)])
        start = b.op("add", start, b.op("and", b.op("sub", stop, start), -step))
    with b.when(b.compare("icmp slt", start, stop)):
        masked.limit(b.op("sub", stop, start))
        elements.write(masked, [start])
    b.line("ret void")
    arrays = [f"ptr noalias %r{i}" for i, role in enumerate(update.roles) if not role.counter]
    parameters = ", ".join([*arrays, "ptr noalias %row", "i64 %start", "i64 %stop"])
    return b.function(f"@body{index}", parameters, linkage="internal ")


class _Elements:
    """Writes what becomes of vectors of elements in a leaf; `known` has the numbers that they share."""

    def __init__(self, b: Builder, update: Update, leaf: Leaf, known: dict[int, Val], is_quick: bool):
        self.b, self.known = b, known
        self.place = {role.value: f"%r{i}" for i, role in enumerate(update.roles) if not role.counter}
        stores = {update.roles[i].value: expr for i, expr in leaf.stores.items()}
        self.stores = [(expr, self.place[value]) for value, expr in stores.items() if value in self.place]
        self.loads = _loads([expr for expr, _ in self.stores], set(self.place))
        self.emit = _emit_quick if is_quick else _emit

    def write(self, memory: _Plain, positions: list[Val]) -> None:
        """Load, compute and store the vectors of elements from each position on."""
        results = [self._compute(memory, i) for i in positions]
        for i, row in zip(positions, results, strict=True):
            for result, (_, place) in zip(row, self.stores, strict=True):
                memory.store(result, place, i)

    def _compute(self, memory: _Plain, i: Val) -> list[Val]:
        known = dict(self.known)
        for e in self.loads:
            known[id(e)] = memory.load(self.place[e.data.value], i)
        return [self.b.splat(self.emit(self.b, expr, known), memory.lanes) for expr, _ in self.stores]


class _Plain:
    """Whole vectors of memory."""

    def __init__(self, b: Builder, dtype: np.dtype, lanes: int):
        self.b, self.dtype, self.lanes, self.size = b, dtype, lanes, dtype.itemsize
        self.element = arithmetic.memory(dtype)

    def place(self, base: str, i: Val) -> str:
        return self.b.emit(f"getelementptr {self.element}, ptr {base}, i64 {i.text}", "ptr").text

    def load(self, base: str, i: Val) -> Val:
        x = self.b.load(self.element, self.lanes, self.place(base, i), self.size)
        return arithmetic.from_memory(self.b, x, self.dtype)

    def store(self, x: Val, base: str, i: Val) -> None:
        self.b.store(arithmetic.to_memory(self.b, x, self.dtype), self.place(base, i), self.size)


class _Masked(_Plain):
    """The first lanes of a vector of memory; the others are read as 1, which no operation dislikes."""

    def limit(self, count: Val) -> None:
        b = self.b
        positions = ", ".join(f"i64 {k}" for k in range(self.lanes))
        limits = b.splat(count, self.lanes)
        mask = f"icmp slt <{self.lanes} x i64> <{positions}>, {limits.text}"
        self.mask = b.emit(mask, "i1", self.lanes)
        kind = {"float": "f32", "double": "f64", "half": "f16"}.get(self.element, self.element)
        vector = f"<{self.lanes} x {self.element}>"
        self.load_symbol = f"@llvm.masked.load.v{self.lanes}{kind}.p0"
        self.store_symbol = f"@llvm.masked.store.v{self.lanes}{kind}.p0"
        b.declare(self.load_symbol, f"declare {vector} {self.load_symbol}(ptr, i32, {self.mask.type}, {vector})")
        b.declare(self.store_symbol, f"declare void {self.store_symbol}({vector}, ptr, i32, {self.mask.type})")

    def load(self, base: str, i: Val) -> Val:
        one = arithmetic.to_memory(self.b, constant(1.0, self.dtype), self.dtype)
        ones = self.b.splat(one, self.lanes)
        kind, place = ones.type, self.place(base, i)
        args = f"ptr {place}, i32 {self.size}, {self.mask.type} {self.mask.text}, {kind} {ones.text}"
        x = self.b.emit(f"call {kind} {self.load_symbol}({args})", self.element, self.lanes, pure=False)
        return arithmetic.from_memory(self.b, x, self.dtype)

    def store(self, x: Val, base: str, i: Val) -> None:
        x = arithmetic.to_memory(self.b, x, self.dtype)
        args = f"{x.type} {x.text}, ptr {self.place(base, i)}, i32 {self.size}, {self.mask.type} {self.mask.text}"
        self.b.line(f"call void {self.store_symbol}({args})")


# ------------------------------------------------------------------------------------------------- the step


def _word(b: Builder, base: str, index: Any, elem: str = "i64") -> Val:
    """The word `base[index]`."""
    index = index.text if isinstance(index, Val) else index
    return b.load(elem, 0, b.emit(f"getelementptr i64, ptr {base}, i64 {index}", "ptr").text, 8)


def _row(b: Builder, scratch: Val, rows: _Rows, i: Val) -> str:
    at = b.op("mul", i, rows.words)
    return b.emit(f"getelementptr i64, ptr {scratch.text}, i64 {at.text}", "ptr").text


def _array(b: Builder, pointers: Val, n: Val, role: int, i: Val) -> Val:
    """The address of a role's array of parameter i."""
    return _word(b, pointers.text, b.op("add", b.op("mul", n, role), i), "ptr")


def _work(update: Update, rows: _Rows, declarations: dict[str, str], flush: bool) -> str:
    """void work(block, start, stop): the elements from start to stop, counted through all parameters."""
    b = Builder(declarations)
    pointers, counts, n = (_word(b, "%block", k, elem) for k, elem in enumerate(("ptr", "ptr", "i64")))
    scratch = _word(b, "%block", 4, "ptr")
    start, stop = Val("%start", "i64"), Val("%stop", "i64")
    before = b.alloca("i64")
    b.put(before, number(0, "i64"))
    modes = _flush_subnormal(b) if flush else None
    with b.loop(number(0, "i64"), n) as i:
        base, count = b.get(before, "i64"), _word(b, counts.text, i)
        b.put(before, b.op("add", base, count))
        first = b.intrinsic("smax", b.op("sub", start, base), 0)
        last = b.intrinsic("smin", b.op("sub", stop, base), count)
        with b.when(b.compare("icmp slt", first, last)):
            row = _row(b, scratch, rows, i)
            arrays = [_array(b, pointers, n, k, i) for k, role in enumerate(update.roles) if not role.counter]
            args = ", ".join([*(f"ptr {a.text}" for a in arrays), f"ptr {row}, i64 {first.text}, i64 {last.text}"])
            leaf = _word(b, row, 0)
            for k in range(len(rows.leaves)):
                with b.when(b.compare("icmp eq", leaf, k)):
                    b.line(f"call void @body{k}({args})")
    if modes is not None:
        _set_modes(b, modes)
    b.line("ret void")
    return b.function("@work", "ptr %block, i64 %start, i64 %stop", linkage="internal ")


def _flush_subnormal(b: Builder) -> str:
    """Take numbers below 2^-126 for zero in this thread from here on; the place of the modes to go back to.

    The momentum of a weight without gradient gets there within a thousand steps, and costs 150 cycles a number then: the
    CIFAR-10 network's update took 96 us instead of 14.
    """
    if isa.is_arm():
        before, now = b.alloca("i64"), b.alloca("i64")
        b.declare("@llvm.aarch64.get.fpcr", "declare i64 @llvm.aarch64.get.fpcr()")
        b.put(before, b.emit("call i64 @llvm.aarch64.get.fpcr()", "i64", pure=False))
        b.put(now, b.op("or", b.get(before, "i64"), _FLUSH_ON_ARM))
    else:
        before, now = b.alloca("i32"), b.alloca("i32")
        b.declare("@llvm.x86.sse.stmxcsr", "declare void @llvm.x86.sse.stmxcsr(ptr)")
        b.line(f"call void @llvm.x86.sse.stmxcsr(ptr {before})")
        b.put(now, b.op("or", b.get(before, "i32"), _FLUSH))
    _set_modes(b, now)
    return before


def _set_modes(b: Builder, place: str) -> None:
    """Write what is stored at `place` to the register of the floating-point modes."""
    if isa.is_arm():
        b.declare("@llvm.aarch64.set.fpcr", "declare void @llvm.aarch64.set.fpcr(i64)")
        b.line(f"call void @llvm.aarch64.set.fpcr(i64 {b.get(place, 'i64').text})")
    else:
        b.declare("@llvm.x86.sse.ldmxcsr", "declare void @llvm.x86.sse.ldmxcsr(ptr)")
        b.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {place})")


def _share(declarations: dict[str, str]) -> str:
    """void share(block): this thread's part of all elements."""
    b = Builder(declarations)
    total, thread, threads = (_word(b, "%block", k, elem) for k, elem in ((6, "i64"), (8, "ptr"), (9, "ptr")))
    me = b.convert("sext", b.emit(f"call i32 {thread.text}()", "i32", pure=False), "i64")
    team = b.convert("sext", b.emit(f"call i32 {threads.text}()", "i32", pure=False), "i64")
    unit = b.op("mul", team, _CHUNK)
    part = b.op("mul", b.op("sdiv", b.op("add", total, b.op("sub", unit, 1)), unit), _CHUNK)
    start = b.op("mul", me, part)
    stop = b.intrinsic("smin", b.op("add", start, part), total)
    b.line(f"call void @work(ptr %block, i64 {start.text}, i64 {stop.text})")
    b.line("ret void")
    return b.function("@share", "ptr %block", linkage="internal ")


def _step(update: Update, rows: _Rows, declarations: dict[str, str]) -> str:
    b = Builder(declarations)
    pointers, n = _word(b, "%block", 0, "ptr"), _word(b, "%block", 2)
    scalars, scratch = _word(b, "%block", 3, "ptr"), _word(b, "%block", 4, "ptr")
    options = {v: _word(b, scalars.text, k, "double") for k, v in enumerate(update.options.values())}
    known = _known_options(update, options)
    _require(b, [b.op("xor", _emit(b, e, known), not outcome) for e, outcome in update.guards], GUARD_MISSED)
    failed = b.alloca("i1")
    b.put(failed, number(False, "i1"))
    with b.loop(number(0, "i64"), n) as i:
        row = _row(b, scratch, rows, i)
        values = dict(known)
        for k in [k for k, role in enumerate(update.roles) if role.counter]:
            value = update.roles[k].value
            counter = b.load(register(value.dtype), 0, _array(b, pointers, n, k, i).text, value.dtype.itemsize)
            values.update((id(e), counter) for e in _loads(_all(update), {value}))
        _Numbers(b, update, rows, row, failed).walk(update.tree, values)
    _require(b, [b.op("xor", b.get(failed, "i1"), True)], NO_VALUE)
    _write_counters(b, update, rows, pointers, n, scratch)
    _launch(b)
    b.line("ret i32 0")
    return b.function("@step", "ptr %block", "i32")


def _all(update: Update) -> list[Expr]:
    """Every expression of an update."""

    def below(tree: Tree) -> list[Expr]:
        if isinstance(tree, Leaf):
            return list(tree.stores.values())
        return [tree.condition, *below(tree.yes), *below(tree.no)]

    return [*(e for e, _ in update.guards), *below(update.tree)]


def _known_options(update: Update, options: dict[Value, Val]) -> dict[int, Val]:
    return {id(e): options[e.data.value] for e in _loads(_all(update), set(options))}


def _require(b: Builder, conditions: list[Val], code: int) -> None:
    """Return `code` unless all conditions hold."""
    for condition in conditions:
        miss, go = b.fresh("miss"), b.fresh("go")
        b.line(f"br i1 {condition.text}, label {go}, label {miss}")
        b.block(miss)
        b.line(f"ret i32 {code}")
        b.block(go)


class _Numbers:
    """Writes a parameter's row of scratch."""

    def __init__(self, b: Builder, update: Update, rows: _Rows, row: str, failed: str):
        self.b, self.update, self.rows, self.row, self.failed = b, update, rows, row, failed

    def walk(self, tree: Tree, known: dict[int, Val]) -> None:
        """Follow the tree's conditions and write what the leaf there needs."""
        b = self.b
        if isinstance(tree, Branch):
            condition = self._compute(tree.condition, known)
            with b.when(condition):
                self.walk(tree.yes, dict(known))
            with b.when(b.op("xor", condition, True)):
                self.walk(tree.no, dict(known))
            return
        index = next(k for k, leaf in enumerate(self.rows.leaves) if leaf is tree)
        self._put(0, number(index, "i64"))
        for k, e in enumerate(self.rows.hoisted[index], 1):
            self._put(k, self._compute(e, known))
            if id(e) in self.rows.divisors:
                divisor = self.rows.divisors[id(e)]
                size = self.b.intrinsic("fabs", self._compute(divisor.expr, known))
                self._fail([b.compare("fcmp olt", size, divisor.low), b.compare("fcmp oge", size, divisor.high)])
        for k, role in enumerate(self.rows.counters, self.rows.counters_at):
            value = self.update.roles[role].value
            same = Expr("load", (), value.dtype, value.ref())
            stored = tree.stores.get(role)
            self._put(k, self._compute(stored, known) if stored is not None else self._old(same, known))

    def _old(self, load: Expr, known: dict[int, Val]) -> Val:
        return next(known[id(e)] for e in _loads(_all(self.update), {load.data.value}))

    def _compute(self, e: Expr, known: dict[int, Val]) -> Val:
        faults: list[Val] = []
        value = _emit(self.b, e, known, faults)
        self._fail(faults)
        return value

    def _fail(self, conditions: list[Val]) -> None:
        """Note that the step cannot be done if one of the conditions holds."""
        if conditions:
            fault = self.b.get(self.failed, "i1")
            for condition in conditions:
                fault = self.b.op("or", fault, condition)
            self.b.put(self.failed, fault)

    def _put(self, k: int, x: Val) -> None:
        self.b.store(x, self.b.emit(f"getelementptr i64, ptr {self.row}, i64 {k}", "ptr").text, 8)


def _write_counters(b: Builder, update: Update, rows: _Rows, pointers: Val, n: Val, scratch: Val) -> None:
    if not rows.counters:
        return
    with b.loop(number(0, "i64"), n) as i:
        row = _row(b, scratch, rows, i)
        for k, role in enumerate(rows.counters, rows.counters_at):
            dtype = update.roles[role].value.dtype
            value = _word(b, row, k, register(dtype))
            b.store(value, _array(b, pointers, n, role, i).text, dtype.itemsize)


def _launch(b: Builder) -> None:
    """Run the loops over elements, on one thread or shared by several."""
    threads, total = _word(b, "%block", 5), _word(b, "%block", 6)
    several = b.compare("icmp sgt", threads, 1)
    with b.when(several):
        parallel = _word(b, "%block", 7, "ptr")
        count = b.convert("trunc", threads, "i32")
        b.line(f"call void {parallel.text}(ptr @share, ptr %block, i32 {count.text}, i32 0)")
    with b.when(b.op("xor", several, True)):
        b.line(f"call void @work(ptr %block, i64 0, i64 {total.text})")
