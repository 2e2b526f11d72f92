"""The unpickler of weights-only loads: a small machine for the pickle opcodes that tensors and containers need.

It differs from `pickle.Unpickler` in what it refuses. A global is looked up in a table and never imported; only entries
of that table are called; state is set only on the few types that need it. So a file can build containers and tensors,
and nothing else, whatever it contains.
"""

import pickle as p
import struct
import warnings
from collections import Counter, OrderedDict
from pickle import UnpicklingError

from rushlight.core.tensor.pickling import Memory

from .allowlist import BLOCKED_MODULES, NOT_IMPLEMENTED, check_name, find_safe, is_added, simple_key

__all__ = ["SafeUnpickler"]

_CONSTANTS = {p.NONE: None, p.NEWTRUE: True, p.NEWFALSE: False, p.EMPTY_TUPLE: ()}
_NEW_CONTAINERS = {p.EMPTY_DICT: dict, p.EMPTY_LIST: list, p.EMPTY_SET: set}
_NUMBERS = {
    p.BININT: struct.Struct("<i"),
    p.BININT1: struct.Struct("<B"),
    p.BININT2: struct.Struct("<H"),
    p.BINFLOAT: struct.Struct(">d"),
}
_SHORT_TUPLES = {p.TUPLE1: 1, p.TUPLE2: 2, p.TUPLE3: 3}
_SIZES = {1: struct.Struct("<B"), 4: struct.Struct("<I"), 8: struct.Struct("<Q")}


_COPIES = 1 << 20


class SafeUnpickler:
    """Reads one pickle from `file`; `persistent_load` gives the storage for a persistent id.

    encoding: for strings that Python 2 wrote; "bytes" leaves them as bytes.
    """

    def __init__(self, file, persistent_load=None, *, encoding="utf-8"):
        self._file = file
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._stack = []
        self._marks = []
        self._memo = {}
        self._room = _COPIES  # bytes that calls may still make of what has been read
        self._storages = {}  # those that the pickle has named, by id
        self._calls = {}  # id of a global on the stack -> (the global, what may be called for it)

    def load(self):
        """The object. Raises UnpicklingError for what is refused or malformed, EOFError for an empty file."""
        opcode = self._file.read(1)
        if not opcode:
            raise EOFError("Ran out of input: there is no pickle to load")
        try:
            while opcode != p.STOP:
                self._execute(opcode)
                opcode = self._read(1)
            return self._stack.pop()
        except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise UnpicklingError(
                f"opcode {opcode!r} of the pickle failed: {type(error).__name__}: {error}; corrupt file?"
            ) from error

    def _execute(self, opcode):
        if opcode in _CONSTANTS:
            self._push(_CONSTANTS[opcode])
        elif opcode in _NEW_CONTAINERS:
            self._push(_NEW_CONTAINERS[opcode]())
        elif opcode in _NUMBERS:
            number = _NUMBERS[opcode]
            self._push(number.unpack(self._read(number.size))[0])
        elif opcode in _SHORT_TUPLES:
            self._push(tuple(self._pop_last(_SHORT_TUPLES[opcode])))
        elif opcode in _OPCODES:
            _OPCODES[opcode](self)
        else:
            raise UnpicklingError(f"Unsupported operand {opcode[0]}")

    # ---------------------------------------------------------------- bytes

    def _read(self, count):
        data = self._file.read(min(count, 1 << 20))
        while 0 < len(data) < count:  # a size that the file only claims is never allocated
            more = self._file.read(min(count - len(data), 1 << 24))
            if not more:
                break
            data += more
        if len(data) < count:
            raise UnpicklingError("pickle data was truncated")
        self._room += 16 * count
        return data

    def _spend(self, size):
        """Keep a short file from making copy upon copy of what it holds."""
        self._room -= size
        if self._room < 0:
            raise UnpicklingError("the calls in the pickle make many times more data than the file holds")

    def _read_size(self, width):
        size = _SIZES[width]
        return size.unpack(self._read(width))[0]

    def _read_line(self):
        line = self._file.readline(4096)
        if line[-1:] != b"\n":
            raise UnpicklingError("pickle data was truncated")
        return line[:-1].decode("utf-8")

    # ---------------------------------------------------------------- stack

    def _push(self, value):
        self._stack.append(value)

    def _pop_last(self, count):
        if len(self._stack) < count:
            raise UnpicklingError("unexpected end of the stack")
        items = self._stack[-count:]
        del self._stack[-count:]
        return items

    def _mark(self):
        self._marks.append(self._stack)
        self._stack = []

    def _pop_to_mark(self):
        items, self._stack = self._stack, self._marks.pop()
        return items

    def _tuple(self):
        items = self._pop_to_mark()
        self._push(tuple(items))

    def _target(self, opcode, *types):
        target = self._stack[-1]
        if type(target) not in types:
            names = ", ".join(t.__name__ for t in types)
            raise UnpicklingError(f"Can only {opcode} for {names}, but got {type(target)}")
        return target

    def _append(self):
        item = self._stack.pop()
        self._target("APPEND", list).append(item)

    def _appends(self):
        items = self._pop_to_mark()
        self._target("APPENDS", list).extend(items)

    def _set_item(self):
        key, value = self._pop_last(2)
        self._target("SETITEM", dict, OrderedDict, Counter)[simple_key(key)] = value

    def _set_items(self):
        items = self._pop_to_mark()
        target = self._target("SETITEMS", dict, OrderedDict, Counter)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[simple_key(key)] = value

    def _add_items(self):
        items = self._pop_to_mark()
        self._target("ADDITEMS", set).update(map(simple_key, items))

    # ---------------------------------------------------------------- values

    def _text(self, width):
        self._push(str(self._read(self._read_size(width)), "utf-8", "surrogatepass"))

    def _bytes(self, width):
        self._push(self._read(self._read_size(width)))

    def _old_string(self):
        data = self._read(self._read_size(1))
        self._push(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _long(self):
        self._push(p.decode_long(self._read(self._read_size(1))))

    def _put(self, width):
        self._memo[self._read_size(width)] = self._stack[-1]

    def _get(self, width):
        self._push(self._memo[self._read_size(width)])

    def _memoize(self):
        self._memo[len(self._memo)] = self._stack[-1]

    def _protocol(self):
        protocol = self._read_size(1)
        if protocol != 2:
            warnings.warn(
                f"Detected pickle protocol {protocol} in the checkpoint, which was not the default pickle protocol "
                "used by `torch.load` (2). The weights_only Unpickler might not support all instructions implemented "
                "by this protocol.",
                stacklevel=6,
            )

    def _storage(self):
        saved_id = self._stack.pop()
        if type(saved_id) not in (tuple, int):
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved_id)}")
        kind = saved_id[0] if type(saved_id) is tuple and saved_id else None
        if kind not in ("storage", b"storage") or self._persistent_load is None:
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(kind)}")
        memory = self._persistent_load(saved_id)
        if isinstance(memory, Memory) and id(memory) not in self._storages:
            self._storages[id(memory)] = memory
            self._room += memory.nbytes()
        self._push(memory)

    # ---------------------------------------------------------------- globals, calls, state

    def _global(self):
        module = self._read_line()
        self._push_global(module, self._read_line())

    def _stack_global(self):
        module, name = self._pop_last(2)
        self._push_global(module, name)

    def _push_global(self, module, name):
        if type(module) is not str or type(name) is not str:
            raise UnpicklingError("the path of a global must be text")
        module, name = modern_path(module, name)
        path = f"{module}.{name}"
        if module in BLOCKED_MODULES:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        if path in NOT_IMPLEMENTED:
            raise NotImplementedError(f"torch.load of {NOT_IMPLEMENTED[path]} ({path}) is not implemented")
        found = find_safe(path)
        if found is None:
            raise UnpicklingError(_refusal(path.removeprefix("builtins.")))
        self._calls[id(found[0])] = found
        self._push(found[0])

    def _reduce(self):
        function, args = self._pop_last(2)
        call = self._call_for(function, "call reduce for unrecognized function")
        self._spend(_copied(args))
        self._push(call(*args))

    def _new_object(self):
        cls, args = self._pop_last(2)
        call = self._call_for(cls, "create a new object of")
        self._spend(_copied(args))
        self._push(cls.__new__(cls, *args) if is_added(cls) else call(*args))

    def _call_for(self, function, deed):
        known, call = self._calls.get(id(function), (None, None))
        if known is not function or call is None:
            shown = function if known is function else f"a value of {type(function)}"
            raise UnpicklingError(f"Trying to {deed} {shown}, which is not allowed")
        return call

    def _build(self):
        state = self._stack.pop()
        target = self._stack[-1]
        if type(target) is OrderedDict:
            _set_metadata(target, state)
        elif is_added(type(target)):
            _set_state(target, state)
        else:
            raise UnpicklingError(
                f"Can only build OrderedDict or types allowlisted via `add_safe_globals`, but got {type(target)}"
            )


_OPCODES = {
    p.MARK: SafeUnpickler._mark,
    p.TUPLE: SafeUnpickler._tuple,
    p.APPEND: SafeUnpickler._append,
    p.APPENDS: SafeUnpickler._appends,
    p.SETITEM: SafeUnpickler._set_item,
    p.SETITEMS: SafeUnpickler._set_items,
    p.ADDITEMS: SafeUnpickler._add_items,
    p.BINUNICODE: lambda machine: machine._text(4),
    p.SHORT_BINUNICODE: lambda machine: machine._text(1),
    p.BINUNICODE8: lambda machine: machine._text(8),
    p.BINBYTES: lambda machine: machine._bytes(4),
    p.SHORT_BINBYTES: lambda machine: machine._bytes(1),
    p.BINBYTES8: lambda machine: machine._bytes(8),
    p.SHORT_BINSTRING: SafeUnpickler._old_string,
    p.LONG1: SafeUnpickler._long,
    p.BINPUT: lambda machine: machine._put(1),
    p.LONG_BINPUT: lambda machine: machine._put(4),
    p.BINGET: lambda machine: machine._get(1),
    p.LONG_BINGET: lambda machine: machine._get(4),
    p.MEMOIZE: SafeUnpickler._memoize,
    p.PROTO: SafeUnpickler._protocol,
    p.FRAME: lambda machine: machine._read(8),
    p.BINPERSID: SafeUnpickler._storage,
    p.GLOBAL: SafeUnpickler._global,
    p.STACK_GLOBAL: SafeUnpickler._stack_global,
    p.REDUCE: SafeUnpickler._reduce,
    p.NEWOBJ: SafeUnpickler._new_object,
    p.BUILD: SafeUnpickler._build,
}


def _copied(args):
    """About how many bytes a call with these arguments could copy."""
    size = sum(len(a) for a in args if type(a) in (str, bytes, bytearray))
    size += 8 * sum(len(a) for a in args if isinstance(a, (list, tuple, dict, set)))
    return size + sum(_copied(a) for a in args if type(a) is tuple and a and isinstance(a[0], Memory))


def modern_path(module: str, name: str) -> tuple[str, str]:
    """Today's path of what Python 2, and so pickle protocol 2, calls `module.name`."""
    from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

    if (module, name) in NAME_MAPPING:
        return NAME_MAPPING[module, name]
    return IMPORT_MAPPING.get(module, module), name


def _refusal(path):
    return (
        f"Unsupported global: GLOBAL {path} was not an allowed global by default. "
        f"Please use `torch.serialization.add_safe_globals([{path}])` or the "
        f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this global if you trust this "
        "class/function."
    )


def _set_metadata(target, state):
    """The attributes of an OrderedDict, such as a state_dict's `_metadata`; its own methods stay as they are."""
    if type(state) is not dict:
        raise UnpicklingError(f"the state of an OrderedDict must be a dict, not {type(state)}")
    for name in state:
        check_name(name, "an OrderedDict", ("_metadata",))
        if hasattr(OrderedDict, name):
            raise UnpicklingError(f"a file may not set this attribute of an OrderedDict: {name}")
    target.__dict__.update(state)


def _set_state(target, state):
    """What pickle does with the state of an object; only for classes that the user trusts."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for part in (attributes, slots):
        for name in part or ():  # `__class__`, `__array_interface__`: what an object is, not what it holds
            if type(name) is not str or not name.isidentifier() or name.startswith("__") and name.endswith("__"):
                raise UnpicklingError(f"a file may not set this attribute of a {type(target).__name__}: {name!r:.60}")
    if attributes:
        target.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)
