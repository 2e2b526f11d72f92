"""Entry points: the function that a user calls, generated source for each operator.

What a call does is the same everywhere: take the arrays out, run the kernel, make the result, and, where gradients are
recorded, a node. Written once as a generic function that costs 2.0-2.6 us a call; written out for each operator 0.5-0.7
us (torch: 1.0-1.4). So the text below is put together from the operator's signature and rules and compiled at its first
call: until then the function's code is `_first_function`, which replaces it. Whatever is unusual (a number for a tensor,
mixed types, a listener, an error) goes to `slow_path.py`, which does the same by looking at the record.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device.buffer import as_array
from ..locks import making
from ..tensor.size import missing
from ..tensor.storage import Storage, storage_of, tick
from ..tensor.strides import ordered, ordered_among
from ..tensor.tensor import Tensor
from . import number_first, number_options
from . import slow_path as slow
from .autocast import Off
from .mode import thread
from .overlap import is_by_element
from .python_signatures import call_error, refused
from .signatures import NUMPY_NAMES, WithOut, binary_operator
from .torch_kernels import SCOPE, condition

if TYPE_CHECKING:
    from .op import Op

_array_of, _dtype_of, _edge_of = attrgetter("_array"), attrgetter("dtype"), attrgetter("_edge")
_CO_VARARGS = 0x04  # inspect's name of the flag: importing inspect costs too much

_FLAGS = ("keepdim", "upper")  # bools, also where they have no default
_RESERVED = frozenset(("kernel", "state", "level", "result", "node", "record", "r", "s", "new", "thread", "tick"))


class Signature:
    """The parameters of a kernel: arrays before `/`, metadata after it; `star` names a final `*parameter`."""

    def __init__(self, kernel: Callable):
        code = kernel.__code__
        names = code.co_varnames[: code.co_argcount]
        self.arrays: tuple[str, ...] = names[: code.co_posonlyargcount]
        self.variadic = False
        self.positional: tuple[str, ...] = names[code.co_posonlyargcount :]
        self.keyword: tuple[str, ...] = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        has_star = code.co_flags & _CO_VARARGS
        self.star: str | None = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if has_star else None
        defaults = kernel.__defaults__ or ()
        self.defaults: dict[str, Any] = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        self.keyword_defaults: dict[str, Any] = dict(kernel.__kwdefaults__ or {})
        self.optional = {n for n in self.arrays if n in self.defaults}
        if not self.arrays and self.star and not self.positional:  # def kernel(*tensors, metadata)
            self.variadic, self.arrays, self.star = True, (self.star,), None
        self.flags = self._flags()
        taken = _RESERVED.intersection((*self.arrays, *self.metadata))
        if taken:
            raise TypeError(
                f"{kernel.__name__}: a parameter may not be called {min(taken)!r}, a name of the entry point's own"
            )
        if not self.arrays:
            raise TypeError(f"the kernel of {kernel.__name__} names no arrays: put them before '/' in its signature")

    @property
    def metadata(self) -> tuple[str, ...]:
        return self.positional + ((self.star,) if self.star else ()) + self.keyword

    def _flags(self) -> tuple[tuple[int, str], ...]:
        """The options that are True or False by default, and those always given, with their places: torch takes bools alone."""
        defaults = {**self.defaults, **self.keyword_defaults}
        return tuple([(i, n) for i, n in enumerate(self.metadata) if n in _FLAGS or type(defaults.get(n)) is bool])

    def numpy_names(self) -> list[tuple[str, str]]:
        """NumPy's words for parameters, which torch takes too: (axis, dim), (keepdims, keepdim)."""
        found = [(n, own) for n, own in NUMPY_NAMES.items() if own in self.metadata]
        return [(n, own) for n, own in found if all(p in self.defaults for p in self._behind(own))]

    def _behind(self, name: str) -> tuple[str, ...]:
        """The positional parameters after one of that name."""
        return self.positional[self.positional.index(name) + 1 :] if name in self.positional else ()

    def entry_defaults(self, takes_all: bool) -> tuple | None:
        """The defaults of the entry point, where `...` is what was not given: `takes_all` is of `_taking_all`."""
        if not takes_all or self.variadic:
            return self.public_defaults()
        return tuple([self.defaults.get(n, ...) for n in (*self.arrays, *self.positional)])

    def required(self) -> list[str]:
        """The options that have to be given, which no other name gives."""
        named = [own for _, own in self.numpy_names()]
        return [n for n in self.positional if n not in self.defaults and n not in named]

    def public_defaults(self) -> tuple | None:
        """The defaults of the public function: a `dim` that has to be given may be given as `axis`."""
        required = [own for _, own in self.numpy_names() if own not in self.defaults and own in self.positional]
        return (*(... for _ in required), *self.defaults.values()) or None

    def public_keyword_defaults(self, out: bool) -> dict[str, Any] | None:
        """The defaults of what is passed by name only."""
        names = dict.fromkeys(n for n, _ in self.numpy_names())
        return {**self.keyword_defaults, **names, **({"out": None} if out else {})} or None

    def renaming(self) -> str:
        """The lines that put NumPy's words in their places."""
        lines = ""
        for n, own in self.numpy_names():
            if own in self.defaults or own in self.keyword:
                lines += f"    if {n} is not None:\n        {own} = {n}\n"
            else:
                lines += f"    if {own} is ...:\n        {own} = given({n}, record, {own!r})\n"
        return lines

    def parameters(self, out: bool) -> str:
        """The public parameter list. Defaults are set on the function object."""
        keyword = self.keyword + tuple(n for n, _ in self.numpy_names()) + (("out",) if out else ())
        star = [f"*{self.star}"] if self.star else ["*"] if keyword else []
        return ", ".join([*self.arrays, *self.positional, *star, *keyword])

    def call(self) -> str:
        """The metadata as the kernel takes it."""
        star = [f"*{self.star}"] if self.star else []
        return ", ".join([*self.positional, *star, *(f"{n}={n}" for n in self.keyword)])


def given(value: Any, record: Op, name: str) -> Any:
    """An argument by NumPy's word. Raises TypeError where it was not given by either word."""
    if value is None:
        raise call_error() or TypeError(missing(record.name, name))
    return value


# ---------------------------------------------------------------------------------------------- calls of the wrong form

# Python's own errors of too many or unknown arguments come from no frame of ours, so that torch's message could not be
# found (`call_site.py`). Entry points therefore take them, which costs 10 ns, and 40 ns more for unknown names: views and
# rows of the table, whose calls take less than a microsecond, leave those to Python.


def _taking_all(record: Op, parameters: str, tensors: str = "") -> tuple[str, str]:
    """Public parameters that take any number of arguments, and the lines that refuse what is wrong."""
    if not record.public:
        return parameters, ""
    words, sig = [], record.signature
    if "*" not in parameters.replace(", *, ", ", "):
        begin, star, end = parameters.partition(", *, ")
        parameters = f"{begin}, *more" + (f", {end}" if star else "")
        words.append("more")
    if record.kind == "general" and not record.view:
        parameters += ", **unknown"
        words.append("unknown")
    called = f"raise refused({record.name!r}, {names_of(record)!r}"
    lines = f"    if {' or '.join(words)}:\n        {called}, {', '.join(words)})\n" if words else ""
    for n in sig.required():
        lines += f"    if {n} is ...:\n        {called})\n"
    return parameters, lines


def names_of(record: Op) -> tuple[str, ...]:
    """The positional parameters that users know."""
    if record.kind != "general":
        return record.shown[: 2 if record.kind == "binary" else 1]
    return (*record.signature.arrays, *record.signature.positional)


class _Pointwise(Signature):
    """The signature of a row of the table."""

    def __init__(self, *arrays: str):
        self.arrays, self.positional, self.keyword, self.star, self.variadic = arrays, (), (), None, False
        self.defaults, self.keyword_defaults, self.optional, self.flags = {}, {}, set(), ()


POINTWISE = {"unary": _Pointwise("x"), "binary": _Pointwise("x", "y")}

# ---------------------------------------------------------------------------------------------- the common tail

_WRAP = """\
    if type(r) is not ndarray:
        r = asarray(r) if isinstance(r, generic) else as_array(r)
    result = new(Tensor)
    result._array = r
    result._grad = None
"""
_OWN = """\
    result._view = None
    result._storage = None
"""
_VIEW = """\
    s = {first}._storage
    if s is None:
        s = storage_of({first})
    result._storage = s
    result._view = ({first}, record, ({metadata}), level)
    watch_view(s, result)
"""
_NODE = """\
    if level > 0 and ({any_edge}):
{inference}        node = new({node_class})
        node.seq = tick()
        node.edges = ({edges})
        node.saved = ({saved})
        node.shape = r.shape
        node.dtype = r.dtype
        node.hooks = None
        {storage}
        result._edge = node
"""
_CHOSEN_CLASS = (
    "NodeClass if isinstance(input, Tensor) and isinstance(other, Tensor) else number_class(isinstance(input, Tensor))"
)
_PLAIN = """\
    else:
        result._edge = None
        if level < 0:
            mark_inference(result)
    return result
"""
_PLAIN_VIEW = """\
    else:
        result._edge = None if level > 0 or e0 is None else unrecorded(result)
    return result
"""
_NO_NODE = """\
    result._edge = None
    if level < 0:
        mark_inference(result)
    return result
"""
_MANY = """\
    node = None
    if level > 0 and ({any_edge}):
{inference}        node = new(NodeClass)
        node.seq = tick()
        node.edges = ({edges})
        node.saved = ({saved})
        node.storage = node.shape = node.dtype = node.hooks = None
    return finish_many(record, r, node, {first}, ({metadata}), level)
"""


def is_result(name: str) -> bool:
    """Whether a rule's parameter is the result ('out') or one of several ('out0', 'out1', ...)."""
    return name == "out" or (name[:3] == "out" and name[3:].isdigit())


_FACTS = ("_shape", "_dtype", "_strides")  # of an array that a rule may ask for instead of the array
KEPT = "_kept"  # behind the name of a saved tensor: the array that it had in the call


def _stem(name: str) -> str:
    """The array of which a rule's parameter is a fact: `x` for `x_shape`."""
    for fact in _FACTS:
        if name.endswith(fact):
            return name[: -len(fact)]
    return name


class Saved:
    """What the rules of an operator keep: (name, expression) in order, and the backward function's text."""

    def __init__(self, record: Op, variables: dict[str, tuple[str, str, str]]):
        self.record = record
        self.arrays = record.signature.arrays
        self.variables = variables  # array name -> (tensor variable, array variable, edge variable)
        self.names: list[str] = []
        self.users: dict[str, set[int]] = {}
        self.reads: dict[str | None, list[str]] = {}
        for key, rule in record.rules.items():
            code = rule.__code__
            self.reads[key] = list(code.co_varnames[: code.co_argcount])
            for n in self.reads[key]:
                self._note(n, key)
        self.kept = [n for n in self.names if n in record.keeps]
        self.names += [n + KEPT for n in self.kept]

    def _note(self, n: str, key: str | None) -> None:
        if n in ("g", "needs"):
            return
        self._check(n)
        if n not in self.names:
            self.names.append(n)
        everyone = set(range(len(self.arrays)))
        self.users.setdefault(n, set()).update(everyone if key is None else {self.arrays.index(key)})

    def _check(self, n: str) -> None:
        stem = _stem(n)
        if self.record.signature.variadic:
            stem = stem.removesuffix("_rest")
        if n in self.arrays or stem in self.arrays or n in self.record.signature.metadata or is_result(n):
            return
        if n in self.record.extras:
            return
        raise TypeError(f"the gradient rule of {self.record.name!r} asks for {n!r}, which is no parameter of it")

    def expression(self, n: str) -> str:
        if is_result(n) and n not in self.arrays and n not in self.record.signature.metadata:
            if self.record.outputs is None:
                return "r"
            return f"r[{n[3:] or 0}]" if self.record.outputs == 1 or n != "out" else "r"
        stem = _stem(n)
        if self.record.signature.variadic and n == self.arrays[0] + "_rest":
            return f"{self.arrays[0]}[{self.record.rest}:]"
        if self.record.signature.variadic and n in (self.arrays[0], self.arrays[0] + "_shape"):
            return n if n in self.arrays else "tuple([None if a is None else a.shape for a in arrays])"
        if n.endswith(("_shape", "_strides")) and stem in self.arrays:
            array, fact = self.variables[stem][1], n[len(stem) + 1 :]
            return (
                f"None if {array} is None else {array}.{fact}"
                if stem in self.record.signature.optional
                else f"{array}.{fact}"
            )
        if n.endswith("_dtype") and stem in self.arrays:
            return f"{self.variables[stem][0]}.dtype"
        own = n.removesuffix(KEPT)
        if own not in self.arrays:
            return n
        users, value = self.users[own], self.variables[own][0] + ("" if n is own else "._array")
        if len(users) == len(self.arrays):
            return value
        wanted = " or ".join(f"{self.variables[self.arrays[i]][2]} is not None" for i in sorted(users))
        return f"{value} if {wanted} else None"

    def inference_text(self) -> str:
        """The lines that refuse to keep tensors made in inference mode, which have no edge."""
        joint = None in self.record.rules  # one rule for all inputs keeps more than the gradients that are wanted need
        if self.record.signature.variadic or (joint and "weight" not in self.arrays):
            return ""
        lines = ""
        for n in self.names:
            others = self.users[n] - {self.arrays.index(n)} if n in self.arrays else set()
            if not others:
                continue
            tensor, _, edge = self.variables[n]
            wanted = " or ".join(f"{self.variables[self.arrays[i]][2]} is not None" for i in sorted(others))
            lines += f"        if {edge} is None and type({tensor}) is Tensor and {tensor}._storage is not None and ({wanted}):\n"
            lines += f"            check_inference({tensor})\n"
        return lines

    def saves_out(self) -> bool:
        return self.record.outputs is None and "out" in self.names

    def tensor_slots(self) -> tuple[int, ...]:
        rest = self.arrays[0] + "_rest" if self.record.signature.variadic else None
        return tuple(i for i, n in enumerate(self.names) if n in self.arrays or n == rest)

    def backward_text(self) -> str:
        n = len(self.arrays)
        lines = ["def backward(node, g, edges=None):"]
        if self.names:
            lines.append(f"    ({''.join('s_' + x + ', ' for x in self.names)}) = node.saved")
        for x in self.names:
            if x in self.record.extras:
                lines.append(f"    s_{x} = wrap_extra(s_{x})")
            elif is_result(x) and x not in self.arrays and x not in self.record.signature.metadata:
                lines.append(f"    s_{x} = relink(node, s_{x}, {x!r})")
        for x in self.kept:
            lines.append(f"    if s_{x}{KEPT} is not None and s_{x}._array is not s_{x}{KEPT}:")
            lines.append(f"        s_{x} = as_kept(record, s_{x}, s_{x}{KEPT}, {x!r})")
        if None in self.record.rules:
            args = self._arguments(None)
            lines.append("    needs = tuple([e is not None for e in (node.edges if edges is None else edges)])")
            lines.append(f"    return rule_joint({args})")
            return "\n".join(lines) + "\n"
        lines.append(f"    ({''.join(f'e{i}, ' for i in range(n))}) = node.edges if edges is None else edges")
        parts = []
        for i, name in enumerate(self.arrays):
            has = name in self.record.rules
            parts.append(
                f"rule_{i}({self._arguments(name)}) if e{i} is not None else None" if has else self._missing(i, name)
            )
        lines.append(f"    return ({', '.join(parts)},)")
        return "\n".join(lines) + "\n"

    def _missing(self, i: int, name: str) -> str:
        return f"no_rule(record, {name!r}) if e{i} is not None else None"

    def _arguments(self, key: str | None) -> str:
        return ", ".join(x if x in ("g", "needs") else "s_" + x for x in self.reads[key])


def _tail(record: Op, saved: Saved, tensors: list[str], edges: list[str]) -> str:
    """The text after the kernel's call."""
    metadata = "".join(n + ", " for n in record.signature.metadata)
    any_edge = " or ".join(f"{e} is not None" for e in edges)
    if record.signature.variadic:
        any_edge, edges = "edges.count(None) != len(edges)", ["*edges"]
    if "dtype" in record.signature.metadata:
        any_edge = f"({any_edge}) and keeps_history(record, dtype)"
    fields = {
        "first": tensors[0],
        "metadata": metadata,
        "any_edge": any_edge,
        "edges": "".join(e + ", " for e in edges),
        "saved": "".join(saved.expression(n) + ", " for n in saved.names),
        "storage": "node.storage = None",
        "inference": saved.inference_text(),
        "node_class": _CHOSEN_CLASS if record.number_nodes else "NodeClass",
    }
    unpack = f"    r, {', '.join(record.extras)} = r\n" if record.extras else ""
    if record.outputs is not None:
        return _MANY.format(**fields)
    own = _VIEW.format(**fields) if record.view else _OWN
    if not record.differentiable:
        return unpack + _WRAP + own + ("    result._edge = None\n    return result\n" if record.view else _NO_NODE)
    if saved.saves_out():
        fields["storage"] = "node.storage = result._storage = s = new(Storage)\n        s.root = r"
    return unpack + _WRAP + own + _NODE.format(**fields) + (_PLAIN_VIEW if record.view else _PLAIN)


# ---------------------------------------------------------------------------------------------- the heads

_GENERAL = """\
def call({parameters}):
{renaming}{out_check}    state = thread.state
    level = state.level
    if level > 1:
        return slow_call(record, ({tensors}), ({metadata}), None)
    try:
{take}{type_check}        r = state.run({kernel}, {arrays}{call})
{order}    except Exception as error:
        return slow_call(record, ({tensors}), ({metadata}), error)
{tail}
"""
_VARIADIC = """\
def call(*{name}{parameters}):
{out_check}    state = thread.state
    level = state.level
    if level > 1:
        return slow_call(record, {name}, ({metadata}), None)
    try:
{take}        r = state.run(kernel, *arrays{call})
{take_edges}    except Exception as error:
        return slow_call(record, {name}, ({metadata}), error)
{tail}
"""
_TAKE_SOME = """\
        arrays = [None if t is None else t._array for t in {name}]
"""
_TAKE_SOME_EDGES = """\
        edges = tuple([None if t is None else t._edge for t in {name}])
"""
_TAKE_ALL = """\
        arrays = list(map(array_of, {name}))
        if list(map(dtype_of, arrays)).count(arrays[0].dtype) != len(arrays):
            return slow_call(record, {name}, ({metadata}), None)
"""
_TAKE_ALL_EDGES = """\
        edges = tuple(map(edge_of, {name}))
"""
_FINISH_VARIADIC = """\
def finish(r, level, {name}, arrays, {metadata}):
    edges = tuple([getattr(t, "_edge", None) for t in {name}])
{tail}
"""
_FINISH = """\
def finish(r, level, {tensors}{arrays}{metadata}):
{edges}{tail}
"""
_UNARY = """\
def call(input{out}):
{out_check}    state = thread.state
    level = state.level
    if level > 1:
        return slow_call(record, (input,), (), None)
    try:
        a = input._array
{type_check}        r = state.run({kernel}, a)
{order}        e0 = input._edge
    except Exception as error:
        return slow_call(record, (input,), (), error)
{tail}
"""
# By form. NumPy's results of contiguous operands are torch's, and those of arrays that are no views are as dense as these.
_ORDERED_BINARY = """\
        if (
            not a.flags.c_contiguous
            or not (b is other or b.base is None or b.flags.c_contiguous or r.size == a.size and 1 not in r.shape)
        ) and r.ndim > 1:
            r = ordered(r, a, b)
"""
_ORDERED = {
    "unary": """\
        if a.base is not None and not a.flags.c_contiguous and r.strides != a.strides and r.ndim > 1:
            r = ordered(r, a)
""",
    "function": _ORDERED_BINARY,
    "operator": _ORDERED_BINARY,
    "reflected": """\
        if b.base is not None and not b.flags.c_contiguous and r.strides != b.strides and r.ndim > 1:
            r = ordered(r, b, a)
""",
}
_ORDERED_AS_ALL = """\
        if not ({contiguous}):
            r = ordered_among(r, ({arrays},))
"""
_FLOATS_ONLY = """\
        if a.dtype is not F32 and a.dtype is not F64:
            return slow_call(record, (input,), (), None)
"""
_ARRAYS_ONLY = """\
        if {checks}:
            return {otherwise}
"""
_ARRAYS_ONLY_VARIADIC = """\
        if type(arrays[0]) is not ndarray:
            return slow_call(record, {name}, ({metadata}), None)
"""
_FLOATS_ONLY_TWO = " or (d is not F32 and d is not F64)"
_BINARY = """\
def call(input, other{out}):
{out_check}    state = thread.state
    level = state.level
    if level > 1:
        return {slow}(record, (input, other), (), None)
    try:
        a = input._array
        d = a.dtype
        kind = type(other)
        if kind is float or (kind is int and -{short} < other < {short}):
            if d is not F32 and d is not F64{integers}:
                return {slow}(record, (input, other), (), None)
            b = other
            e1 = None
        else:
            b = other._array
            if b.dtype is not d{type_check}:
                return {slow}(record, (input, other), (), None)
            e1 = other._edge
        r = state.run({kernel}, a, b)
        if r.size >= least and a.size < least:
            widened()
{order}        e0 = input._edge
    except Exception as error:
        return {slow}(record, (input, other), (), error)
{tail}
"""
_REFLECTED = """\
def call(other, input):
    state = thread.state
    level = state.level
    if level > 1:
        return slow_operator(record, (input, other), (), None)
    try:
        b = other._array
        d = b.dtype
        kind = type(input)
        if (
            kind is not float and (kind is not int or not -{short} < input < {short})
        ) or (d is not F32 and d is not F64):
            return slow_operator(record, (input, other), (), None)
        a = input
        e0 = None
        e1 = other._edge
        r = state.run({kernel}, a, b)
{order}    except Exception as error:
        return slow_operator(record, (input, other), (), error)
{tail}
"""
_OUT_CHECK = """\
    if out is not None:
        return slow_out(record, ({tensors}), ({metadata}), out)
"""


def _pointwise_text(record: Op, form: str) -> tuple[str, Saved]:
    """form: 'function' (accepts out=), 'operator' or 'reflected'."""
    unary = record.kind == "unary"
    variables = {"x": ("input", "a", "e0"), "y": ("other", "b", "e1")}
    saved = Saved(record, variables)
    tensors, edges = (["input"], ["e0"]) if unary else (["input", "other"], ["e0", "e1"])
    out = record.out and form == "function"
    parameters, refusal = ", *, out=None" if out else "", ""
    if form == "function":
        parameters, refusal = _taking_all(record, parameters)
    check = _OUT_CHECK.format(tensors=", ".join(tensors) + ",", metadata="") if out else ""
    fields = {
        "out": parameters,
        "out_check": refusal + check,
        "tail": _tail(record, saved, tensors, edges),
        "type_check": _pointwise_check(record, unary),
        "integers": "" if record.promote == "float" else " and (d is not I64 or kind is float)",
        "order": "" if record.laid_as else _ORDERED["unary" if unary else form],
        "slow": "slow_operator" if form == "operator" else "slow_call",
        "kernel": _chosen_kernel(record, "b" if form == "reflected" else "a"),
    }
    template = _UNARY if unary else _REFLECTED if form == "reflected" else _BINARY
    text = template.format(short=number_options.SHORT, **fields)
    for usual, name in zip(("input", "other"), record.shown, strict=False):
        text = text if name is usual else re.sub(rf"\b{usual}\b", name, text)
    return text, saved


def _chosen_kernel(record: Op, first: str) -> str:
    """What an entry point runs: for an operator that may become a program another way from so many elements on."""
    return "kernel" if record.jit_min_elements is None else f"kernel if {first}.size < least else large"


def _pointwise_check(record: Op, unary: bool) -> str:
    """What has to hold of the arrays of a row before its kernel: in a unary row lines, in a binary one a condition."""
    if record.promote == "float":
        return _FLOATS_ONLY if unary else _FLOATS_ONLY_TWO
    lacking = condition(record.lacks + "c" * (record.of_complex is not None), "a.dtype" if unary else "d")
    lacking = " or " + lacking if lacking else ""
    if unary:
        checks = "type(a) is not ndarray" + lacking
        return _ARRAYS_ONLY.format(checks=checks, otherwise="slow_call(record, (input,), (), None)")
    return lacking  # types are compared by identity, and a buffer's is new each time


def _variadic_text(record: Op) -> tuple[str, Saved]:
    sig = record.signature
    name = sig.arrays[0]
    saved = Saved(record, {name: (name, "arrays", "edges")})
    metadata = "".join(n + ", " for n in sig.metadata)
    keyword = sig.keyword + (("out",) if record.out else ())
    check = _ARRAYS_ONLY_VARIADIC.format(name=name, metadata=metadata)
    text = _VARIADIC.format(
        name=name,
        parameters="".join(", " + n for n in keyword),
        out_check=_OUT_CHECK.format(tensors=f"*{name},", metadata=metadata) if record.out else "",
        take=(_TAKE_ALL if record.promote else _TAKE_SOME).format(name=name, metadata=metadata) + check,
        take_edges=(_TAKE_ALL_EDGES if record.promote else _TAKE_SOME_EDGES).format(name=name),
        metadata=metadata,
        call="".join(f", {n}={n}" for n in sig.keyword),
        tail=_tail(record, saved, [name + "[0]"], []),
    )
    return text, saved


def _mixed_types(record: Op, variables: dict[str, tuple[str, str, str]], otherwise: str) -> str:
    """The lines that leave for the slow path where inputs have to be brought to a common type first."""
    if record.promote is None:
        return ""
    first, *others = [v[1] for v in variables.values()]
    optional = [n in record.signature.optional for n in record.signature.arrays[1:]]
    checks = [
        f"({a} is not None and {a}.dtype is not {first}.dtype)" if o else f"{a}.dtype is not {first}.dtype"
        for a, o in zip(others, optional, strict=True)
    ]
    if record.promote == "float":
        checks.append(f"({first}.dtype is not F32 and {first}.dtype is not F64)")
    if not checks:
        return ""
    return f"        if {' or '.join(checks)}:\n            return {otherwise}\n"


def _arrays_only(record: Op, variables: dict[str, tuple[str, str, str]], otherwise: str) -> str:
    """The lines that leave for the slow path where an input is not NumPy's array: kernels may rely on it."""
    checks = [
        f"({v[1]} is not None and type({v[1]}) is not ndarray)"
        if n in record.signature.optional
        else f"type({v[1]}) is not ndarray"
        for n, v in variables.items()
    ]
    if record.lacks and record.promote != "float":
        checks.append(condition(record.lacks, next(iter(variables.values()))[1] + ".dtype"))
    return _ARRAYS_ONLY.format(checks=" or ".join(checks), otherwise=otherwise)


def _flags_only(record: Op, otherwise: str) -> str:
    """The lines that leave for the slow path where an option that is True or False is neither."""
    checks = [f"({n} is not False and {n} is not True)" for _, n in record.signature.flags]
    return _ARRAYS_ONLY.format(checks=" or ".join(checks), otherwise=otherwise) if checks else ""


def _numbers_held(record: Op, otherwise: str) -> str:
    """The lines that leave for the slow path where a number among the options may be too large for its type."""
    checks = number_options.condition(record.options, "a0")
    return _ARRAYS_ONLY.format(checks=checks, otherwise=otherwise) if checks else ""


def _general_text(record: Op) -> tuple[str, Saved]:
    sig = record.signature
    if sig.variadic:
        return _variadic_text(record)
    variables = {n: (n, f"a{i}", f"e{i}") for i, n in enumerate(sig.arrays)}
    saved = Saved(record, variables)
    edges = [v[2] for v in variables.values()]
    take = "".join(
        f"        a{i}, e{i} = (None, None) if {n} is None else ({n}._array, {n}._edge)\n"
        if n in sig.optional
        else f"        a{i} = {n}._array\n        e{i} = {n}._edge\n"
        for i, n in enumerate(sig.arrays)
    )
    tensors, metadata = "".join(n + ", " for n in sig.arrays), "".join(n + ", " for n in sig.metadata)
    otherwise = f"slow_call(record, ({tensors}), ({metadata}), None)"
    parameters, older = sig.parameters(record.out), ""
    if record.number_first:
        parameters = parameters.replace(", *, ", ", *number_first, ", 1)
        named = ", ".join(f"{n!r}: {n}" for n in [*sig.keyword, *["out"] * record.out])
        older = f"    if number_first:\n        return older_call(record, ({tensors}*number_first), {{{named}}})\n"
    parameters, refusal = _taking_all(record, parameters)
    text = _GENERAL.format(
        parameters=parameters,
        renaming=refusal + sig.renaming() + older,
        out_check=_OUT_CHECK.format(tensors=tensors, metadata=metadata) if record.out else "",
        take=take,
        tensors=tensors,
        metadata=metadata,
        type_check=_arrays_only(record, variables, otherwise)
        + _flags_only(record, otherwise)
        + _numbers_held(record, otherwise)
        + _mixed_types(record, variables, otherwise),
        kernel=_chosen_kernel(record, f"a{record.sized_by}"),
        arrays="".join(v[1] + ", " for v in variables.values()),
        call=sig.call(),
        order=_order_of_all(record, variables),
        tail=_tail(record, saved, list(sig.arrays), edges),
    )
    return text, saved


def _order_of_all(record: Op, variables: dict[str, tuple[str, str, str]]) -> str:
    """The lines that bring the result of an operator of each element to the order in memory that torch gives it."""
    if record.laid_as or not is_by_element(record):
        return ""
    given = []
    for name, (_, array, _) in variables.items():
        known = [f"{array}.base is None"] if given else []  # in NumPy's memory: the first operand decides
        known += [f"{array} is None"] if name in record.signature.optional else []
        known = [*known[::-1], f"{array}.flags.c_contiguous"]
        given.append(f"({' or '.join(known)})" if len(known) > 1 else known[0])
    return _ORDERED_AS_ALL.format(contiguous=" and ".join(given), arrays=", ".join(v[1] for v in variables.values()))


def _finish_text(record: Op, saved: Saved) -> str:
    if record.signature.variadic:
        return _FINISH_VARIADIC.format(
            name=saved.arrays[0],
            metadata="".join(n + ", " for n in record.signature.metadata),
            tail=_tail(record, saved, [saved.arrays[0] + "[0]"], []),
        )
    pairs = [saved.variables[n] for n in saved.arrays]
    edges = "".join(f"    {e} = getattr({t}, '_edge', None)\n" for t, _, e in pairs)
    return _FINISH.format(
        tensors="".join(t + ", " for t, _, _ in pairs),
        arrays="".join(a + ", " for _, a, _ in pairs),
        metadata="".join(n + ", " for n in record.signature.metadata),
        edges=edges,
        tail=_tail(record, saved, [t for t, _, _ in pairs], [e for _, _, e in pairs]),
    )


# ---------------------------------------------------------------------------------------------- making functions

_new = object.__new__
_COMPILED: dict[str, Any] = {}


def _code(text: str, function: str, record: Op) -> Any:
    """The code object of `function` in `text`; equal texts are compiled once."""
    known = _COMPILED.get(text)
    if known is None:
        scope: dict[str, Any] = {}
        exec(compile(text, f"<rushlight entry of {record.name}>", "exec"), scope)
        known = _COMPILED[text] = scope[function].__code__
    return known


def _first_function(*args, **kwargs):
    specialise(record)  # type: ignore[name-defined]  # noqa: F821
    return record.scope["function"](*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def _first_operator(*args):
    specialise(record)  # type: ignore[name-defined]  # noqa: F821
    return record.scope["operator"](*args)  # type: ignore[name-defined]  # noqa: F821


def _first_reflected(*args):
    specialise(record)  # type: ignore[name-defined]  # noqa: F821
    return record.scope["reflected"](*args)  # type: ignore[name-defined]  # noqa: F821


_FIRST = {"function": _first_function, "operator": _first_operator, "reflected": _first_reflected}


def is_unspecialised(function: Any) -> bool:
    """Whether an entry point has not been called yet."""
    return any(function.__code__ is first.__code__ for first in _FIRST.values())


def build(record: Op) -> Any:
    """The public function of an operator: unspecialised until its first call."""
    scope = record.scope
    if record.function is not None:  # a rule was added: specialise again
        scope.pop("finish", None)
        for form, first in _FIRST.items():
            if form in scope:
                scope[form].__code__ = first.__code__
        return record.function
    scope.update(record=record, specialise=specialise)
    function = record.function = _function(record, "function", record.name)
    function.record, function.vjp, function.override = record, record.vjp, record.override
    return function


def complete_scope(record: Op) -> dict[str, Any]:
    """The global names of an operator's entry points: few at import, all of them from the first need on."""
    scope = record.scope
    if "new" in scope:
        return scope
    scope.update(
        kernel=record.kernel, thread=thread, new=_new, Tensor=Tensor,
        ndarray=np.ndarray, asarray=np.asarray, generic=np.generic, as_array=as_array, tick=tick, NodeClass=record.node_class, number_class=record.number_class, Storage=Storage,
        array_of=_array_of, dtype_of=_dtype_of, edge_of=_edge_of, storage_of=storage_of, F32=np.dtype(np.float32), F64=np.dtype(np.float64), I64=np.dtype(np.int64),
        slow_call=slow.call, slow_operator=slow.operator, older_call=number_first.call, slow_out=slow.into_out, given=given, refused=refused, ordered=ordered, ordered_among=ordered_among, watch_view=slow.watch_view,
        mark_inference=slow.mark_inference, check_inference=slow.check_inference, finish_many=slow.finish_many, relink=slow.relink, as_kept=slow.as_kept, wrap_extra=slow.wrap_extra, no_rule=slow.no_rule, keeps_history=slow.keeps_history, unrecorded=slow.unrecorded,
        **(SCOPE if record.lacks or record.of_complex else {}), **({} if record.jit_min_elements is None else {"least": record.jit_min_elements, "large": record.large or record.kernel, "widened": record.widened}),
    )  # fmt: skip
    return scope


def operators(record: Op) -> tuple[Any, Any]:
    """The functions behind a Python operator: (plain, reflected)."""
    return _function(record, "operator", record.name), _function(record, "reflected", record.name)


def _function(record: Op, form: str, name: str) -> Any:
    f = record.scope[form] = FunctionType(_FIRST[form].__code__, record.scope, name)
    f.__doc__, f.__qualname__ = record.doc, name
    f.__wrapped__ = record if form == "function" else binary_operator  # inspect.signature looks there
    f.__module__ = record.kernel.__module__ if record.kind == "general" else "rushlight"
    return f


def specialise(record: Op) -> None:
    """Compile the entry points and the backward function of an operator."""
    with making:
        scope, sig = complete_scope(record), record.signature
        sources, saved = generate(record)
        _install_rules(record, saved, sources)
        f = scope["function"]
        f.__defaults__ = sig.entry_defaults(record.public)
        f.__kwdefaults__ = sig.public_keyword_defaults(record.out)
        for form in _FIRST:  # the code last: another thread may call as soon as it is there
            if form in scope:
                scope[form].__code__ = _code(sources[form], "call", record)


def generate(record: Op) -> tuple[dict[str, str], Saved]:
    """The source of an operator's functions, by what they are for, and what they keep for backward."""
    text, saved = _general_text(record) if record.kind == "general" else _pointwise_text(record, "function")
    sources = {"function": text}
    for form in ("operator", "reflected"):
        if form in record.scope:
            sources[form] = _pointwise_text(record, form)[0]
    if record.rules:
        sources["backward"] = saved.backward_text()
    return sources | {"finish": _finish_text(record, saved)}, saved


def _install_rules(record: Op, saved: Saved, sources: dict[str, str]) -> None:
    scope = record.scope
    for name, rule in record.rules.items():
        key = "rule_joint" if name is None else f"rule_{saved.arrays.index(name)}"
        scope[key] = rule
    cls = record.node_class
    cls.tensor_slots, cls.saved_names = saved.tensor_slots(), tuple(saved.names)
    if record.rules:
        backward = FunctionType(_code(sources["backward"], "backward", record), scope, "backward")
        backward.__defaults__ = (None,)
        cls.backward = backward  # type: ignore[method-assign]
        cls.chooses = not record.signature.variadic  # torch computes those of all tensors of a list
    scope["finish"] = FunctionType(_code(sources["finish"], "finish", record), scope, "finish")


def accept_out(f: Callable) -> Callable:
    """A composite that also takes `out=`: the result is computed, then written into it."""

    def call(*args, out=None, **kwargs):
        if kwargs:
            kwargs = {NUMPY_NAMES.get(k, k): v for k, v in kwargs.items()}
        if out is None:
            return f(*args, **kwargs)
        with Off():
            result = f(*args, **kwargs)
        given = (*args, *kwargs.values())
        inputs = tuple([t for a in given for t in (a if isinstance(a, (list, tuple)) else (a,))])
        return slow.write_out(f.__name__, inputs, result, out, again=partial(f, *args, **kwargs))

    call.__name__, call.__doc__, call.__module__, call.__wrapped__ = f.__name__, f.__doc__, f.__module__, WithOut(f)  # type: ignore[attr-defined]
    return call
