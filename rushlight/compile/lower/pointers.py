"""The addresses of the arrays in lists of tensors, read and checked by native code.

An optimizer's step in an eager loop gets new gradients each time, and its other tensors may have been replaced since
the last one. Looking at 250 tensors from Python takes 100 us; native code that follows the interpreter's pointers, from
the list to the tensor to its array to the array's memory, takes 2 us. What it relies on is CPython's and NumPy's C ABI
and where a tensor has its array; `layout()` finds that out and checks it, and is None where things are otherwise.

    int32_t gather(PyObject *lists, int64_t *table)

is called with the interpreter's lock held. `lists` is a list of `roles` lists of n tensors. `table` has 12 words:

    0  n                     1  roles
    2  records               address of 4 words for each (role, tensor): the tensor's type, its array's dtype object,
                             the array's flags that must be set, and the address of its layout: ndim, shape, strides
    3  pointers              address of int64 [roles, n]: gets the addresses of the arrays' memory
    4  written               address of int64 [roles]: whether the role's arrays are written
    5  bytes                 address of int64 [n]: how many bytes an array of that parameter has
    6  starts   7  ends      addresses of the sorted bounds of all memory that is written
    8  ranges  9  steps      how many bounds there are, and how many bits that number has
    10 array   11 list       addresses of the types of arrays and of lists

It returns 0; 1 if a record does not fit; 2 if the memory of a role that is written moved, or if other memory overlaps
what is written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rushlight.core.locks import made_once
from rushlight.core.tensor.tensor import Tensor, wrap

from ...core.foreign import ctypes
from .llvm.engine import attributes, build
from .llvm.ir import Builder, Val, number

RECORD_WORDS = 4
FITS, DIFFERS, MOVED = 0, 1, 2
_WORD = 8
_TYPES = id(np.ndarray), id(list)
_ANY = 1 << 62  # a stride of an array without elements
_READABLE, _WRITABLE = 0x100, 0x500  # NumPy's flags: aligned, and writeable


class Layout(NamedTuple):
    """Offsets in bytes: of the type in any object, of length and items in a list, of a tensor's array, of an array's fields."""

    type: int
    length: int
    items: int
    array: int
    data: int
    ndim: int
    shape: int
    strides: int
    dtype: int
    flags: int


@made_once
def layout() -> Layout | None:
    """Where CPython and NumPy keep things, or None where that is not as it is expected."""
    head = object.__basicsize__
    probe = wrap(np.zeros((3, 4), np.float32)[1:, 1:3])
    slot = _find(probe, id(probe._array), Tensor.__basicsize__)
    if np.intp().itemsize != _WORD or slot is None:
        return None
    found = Layout(head - _WORD, head, head + 8, slot, head, head + 8, head + 16, head + 24, head + 40, head + 48)
    return found if _is_right(found, probe) else None


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _find(x: Any, word: int, size: int) -> int | None:
    """The only offset of a word in the object."""
    hits = [at for at in range(0, size, _WORD) if _word(id(x) + at) == word]
    return hits[0] if len(hits) == 1 else None


def _is_right(at: Layout, probe: Tensor) -> bool:
    array, items = probe._array, [probe, probe._array]
    place = id(array)
    if type(array).__basicsize__ < at.flags + 4 or list.__basicsize__ < at.items + _WORD:
        return False
    ndim = ctypes.c_int.from_address(place + at.ndim).value
    if ndim != 2 or _word(place + at.type) != id(np.ndarray) or _word(place + at.data) != array.ctypes.data:
        return False
    shape, strides = _word(place + at.shape), _word(place + at.strides)
    return (
        [_word(shape + 8 * i) for i in range(2)] == [2, 2]
        and [_word(strides + 8 * i) for i in range(2)] == [16, 4]
        and _word(place + at.dtype) == id(array.dtype)
        and ctypes.c_int.from_address(place + at.flags).value & 0xFFFF == array.flags.num & 0xFFFF
        and _word(id(items) + at.length) == 2
        and _word(_word(id(items) + at.items) + _WORD) == id(array)
        and _word(id(items) + at.type) == id(list)
    )


class Table:
    """The addresses of the arrays of lists of tensors, for lists like the ones it was made from.

    ``update(lists)`` brings ``pointers``, an int64 array [roles, n], up to date. It returns False if the tensors are not
    of the same types, dtypes, shapes and strides as before, or if memory that is written overlaps any other.
    """

    def __init__(self, lists: list[list[Tensor]], written: tuple[bool, ...], pointers: np.ndarray):
        n = len(lists[0])
        arrays = [[t._array for t in tensors] for tensors in lists]
        self.pointers = pointers
        pointers[:] = 0
        self.bytes = np.array([a.nbytes for a in arrays[0]], np.int64)
        self._written = np.array(written, np.int64)
        self._layouts = [
            np.array((a.ndim, *a.shape, *(a.strides if a.size else (_ANY,) * a.ndim)), np.int64) for a in arrays[0]
        ]
        self._scalar = np.zeros(1, np.int64)
        self._kept = [(type(t), t._array.dtype) for tensors in lists for t in tensors]  # so that no id is used again
        self._records = np.array(
            [self._record(t, w, i) for tensors, w in zip(lists, written) for i, t in enumerate(tensors)], np.int64
        )
        self._sizes = np.array([[a.nbytes for a in row] for row in arrays], np.int64)
        self._bounds = np.zeros((2, self.pointers.size), np.int64)
        starts, ends = (row.ctypes.data for row in self._bounds)
        parts = (self._records, self.pointers, self._written, self.bytes)
        self._table = np.array([n, len(lists), *(p.ctypes.data for p in parts), starts, ends, 0, 0, *_TYPES], np.int64)
        self._address = self._table.ctypes.data
        self._gather = gather()

    def _record(self, t: Tensor, written: bool, i: int) -> tuple[int, int, int, int]:
        a = t._array
        shape = self._layouts[i] if a.ndim else self._scalar
        return id(type(t)), id(a.dtype), _WRITABLE if written else _READABLE, shape.ctypes.data

    def update(self, lists: list[list[Tensor]]) -> bool:
        """Whether `pointers` now has the addresses of these tensors' arrays."""
        code = self._gather(lists, self._address)
        if code == MOVED:
            if self._sort():
                code = self._gather(lists, self._address)
            if code == MOVED:
                self.pointers[:] = 0  # so that the next call looks again
        return code == FITS

    def _sort(self) -> bool:
        """Find the bounds of what is written again. False where they overlap."""
        written = self._written != 0
        starts, sizes = self.pointers[written].ravel(), self._sizes[written].ravel()
        starts, sizes = starts[sizes > 0], sizes[sizes > 0]
        order = np.argsort(starts)
        starts = starts[order]
        ends = starts + sizes[order]
        count = len(starts)
        self._bounds[0, :count], self._bounds[1, :count] = starts, ends
        self._table[8:10] = count, count.bit_length()
        return not (ends[:-1] > starts[1:]).any()


@made_once
def gather() -> Any:
    """The native function. Raises RuntimeError where this interpreter keeps its objects in another way."""
    at = layout()
    if at is None:
        raise RuntimeError(
            "the layout of this Python interpreter's objects is unknown, so native code cannot read tensors"
        )
    code = build(_assembly(at))
    function: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(code.address("gather"))
    function.code = code  # lives as long as the function
    return function


# ------------------------------------------------------------------------------------------------ its assembly


def _assembly(at: Layout) -> str:
    declarations: dict[str, str] = {}
    functions = [_fits(at, declarations), _overlaps(declarations), _gather(at, declarations)]
    return "\n".join([*declarations.values(), *functions, attributes()])


def _get(b: Builder, base: str, offset: Any = 0, elem: str = "i64") -> Val:
    """The word `offset` bytes after `base`."""
    offset = offset.text if isinstance(offset, Val) else offset
    place = b.emit(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr")
    return b.load(elem, 0, place.text, 4 if elem == "i32" else 8)


def _words(b: Builder, base: Val, index: Val, elem: str = "i64") -> Val:
    return _get(b, base.text, b.op("mul", index, _WORD), elem)


def _return_if(b: Builder, condition: Val, code: str) -> None:
    then, go = b.fresh("return"), b.fresh("go")
    b.line(f"br i1 {condition.text}, label {then}, label {go}")
    b.block(then)
    b.line(f"ret {code}")
    b.block(go)


def _fits(at: Layout, declarations: dict[str, str]) -> str:
    """i1 fits(array, record, table): whether it is an array, with the dtype, flags, shape and strides of a record."""
    b = Builder(declarations)
    no = "i1 false"
    _return_if(b, b.compare("icmp ne", _get(b, "%array", at.type), _get(b, "%table", 80)), no)
    _return_if(b, b.compare("icmp ne", _get(b, "%array", at.dtype), _get(b, "%record", 8)), no)
    wanted = b.convert("trunc", _get(b, "%record", 16), "i32")
    flags = b.op("and", _get(b, "%array", at.flags, "i32"), wanted)
    _return_if(b, b.compare("icmp ne", flags, wanted), no)
    expected = _get(b, "%record", 24, "ptr")
    ndim = b.convert("sext", _get(b, "%array", at.ndim, "i32"), "i64")
    _return_if(b, b.compare("icmp ne", ndim, _get(b, expected.text)), no)
    shape, strides = _get(b, "%array", at.shape, "ptr"), _get(b, "%array", at.strides, "ptr")
    with b.loop(number(0, "i64"), ndim) as i:
        place = b.op("add", i, 1)
        length = _words(b, shape, i)
        _return_if(b, b.compare("icmp ne", length, _words(b, expected, place)), no)
        stride = _words(b, expected, b.op("add", place, ndim))
        other = b.op("and", b.compare("icmp ne", length, 1), b.compare("icmp ne", stride, _ANY))
        _return_if(b, b.op("and", other, b.compare("icmp ne", _words(b, strides, i), stride)), no)
    b.line("ret i1 true")
    return b.function("@fits", "ptr %array, ptr %record, ptr %table", "i1", "internal ")


def _overlaps(declarations: dict[str, str]) -> str:
    """i1 overlaps(table, start, end): whether memory overlaps what is written; bisects the sorted bounds."""
    b = Builder(declarations)
    starts, ends = _get(b, "%table", 48, "ptr"), _get(b, "%table", 56, "ptr")
    count, steps = _get(b, "%table", 64), _get(b, "%table", 72)
    before = b.alloca("i64")  # how many ranges are known to end before `start`
    b.put(before, number(0, "i64"))
    with b.loop(number(0, "i64"), steps) as i:
        low = b.get(before, "i64")
        high = b.op("add", low, b.op("shl", number(1, "i64"), b.op("sub", b.op("sub", steps, 1), i)))
        inside = b.compare("icmp sle", high, count)
        last = b.select(inside, b.op("sub", high, 1), 0)
        ended = b.compare("icmp sle", _words(b, ends, last), Val("%start", "i64"))
        b.put(before, b.select(b.op("and", inside, ended), high, low))
    first = b.get(before, "i64")
    _return_if(b, b.compare("icmp sge", first, count), "i1 false")
    hit = b.compare("icmp slt", _words(b, starts, first), Val("%end", "i64"))
    b.line(f"ret i1 {hit.text}")
    return b.function("@overlaps", "ptr %table, i64 %start, i64 %end", "i1", "internal ")


def _gather(at: Layout, declarations: dict[str, str]) -> str:
    b = Builder(declarations)
    n, roles = _get(b, "%table", 0), _get(b, "%table", 8)
    records, pointers, written, sizes = (_get(b, "%table", 16 + 8 * k, "ptr") for k in range(4))
    moved = b.alloca("i1")
    b.put(moved, number(False, "i1"))
    _return_if(b, b.compare("icmp ne", _get(b, "%lists", at.length), roles), f"i32 {DIFFERS}")
    lists = _get(b, "%lists", at.items, "ptr")
    with b.loop(number(0, "i64"), roles) as r:
        tensors = _words(b, lists, r, "ptr")
        _return_if(b, b.compare("icmp ne", _get(b, tensors.text, at.type), _get(b, "%table", 88)), f"i32 {DIFFERS}")
        _return_if(b, b.compare("icmp ne", _get(b, tensors.text, at.length), n), f"i32 {DIFFERS}")
        items, is_written = _get(b, tensors.text, at.items, "ptr"), b.compare("icmp ne", _words(b, written, r), 0)
        with b.loop(number(0, "i64"), n) as i:
            k = b.op("add", b.op("mul", r, n), i)
            data = _check(b, at, _words(b, items, i, "ptr"), b.op("mul", k, _WORD * RECORD_WORDS), records)
            place = b.emit(f"getelementptr i64, ptr {pointers.text}, i64 {k.text}", "ptr").text
            changed = b.compare("icmp ne", data, b.load("i64", 0, place, _WORD))
            b.store(data, place, _WORD)
            with b.when(b.op("and", is_written, changed)):
                b.put(moved, number(True, "i1"))
            with b.when(b.op("xor", is_written, True)):
                end = b.op("add", data, _words(b, sizes, i))
                hit = b.emit(f"call i1 @overlaps(ptr %table, i64 {data.text}, i64 {end.text})", "i1", pure=False)
                b.put(moved, b.op("or", b.get(moved, "i1"), hit))
    code = b.select(b.get(moved, "i1"), number(MOVED, "i32"), FITS)
    b.line(f"ret i32 {code.text}")
    return b.function("@gather", "ptr %lists, ptr %table", "i32")


def _check(b: Builder, at: Layout, tensor: Val, offset: Val, records: Val) -> Val:
    """The address of a tensor's memory; returns from the function if the tensor does not fit its record."""
    record = b.emit(f"getelementptr i8, ptr {records.text}, i64 {offset.text}", "ptr").text
    differs = f"i32 {DIFFERS}"
    _return_if(b, b.compare("icmp ne", _get(b, tensor.text, at.type), _get(b, record)), differs)
    array = _get(b, tensor.text, at.array, "ptr")
    _return_if(b, b.emit(f"icmp eq ptr {array.text}, null", "i1"), differs)
    fits = b.emit(f"call i1 @fits(ptr {array.text}, ptr {record}, ptr %table)", "i1", pure=False)
    _return_if(b, b.op("xor", fits, True), differs)
    return _get(b, array.text, at.data)
