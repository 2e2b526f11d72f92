"""A backward's tape described exactly, and the function that knows one like it again.

What a tape computes depends on its nodes, on how they hang together, and on what they saved: arrays by their geometry,
everything else by value. `Tape` walks one and writes the text of a function that walks another with the same tests and
gathers its arrays: 0.4 us a node, where a walk that looks at descriptions costs 3 us.

A tape is `Ineligible` where its backward is more than arithmetic: hooks, user-defined functions, leaves that are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.engine import keeps_tensors, nodes_leading
from ...backend.onednn.address import address
from ...backend.onednn.precision import fpmath
from ...core.dispatch.inplace import CopySlices
from ...core.tensor.dtype import dtype
from ...core.tensor.layout import layout, memory_format
from ...core.tensor.node import Leaf, Output, may_wait
from ...core.tensor.size import Size
from ...core.tensor.storage import moves
from ...core.tensor.tensor import Tensor
from ..capture.joint import CompiledFunctionBackward

Match = Callable[[Any, Any], tuple[tuple, tuple, tuple] | None]

_SIMPLE = (int, float, bool, str, bytes, complex, type(None), type(Ellipsis), np.generic)
_BY_IDENTITY = (dtype, np.dtype, layout, memory_format, type)


class Ineligible(Exception):
    """Why a tape is left to the plain engine."""


class Tape:
    """The tape that hangs on `roots`: edges with their gradients.

    wanted: the leaves whose gradients are what the pass gives; None where all leaves accumulate. Nodes that lead to none of
    them do not run, and only how they hang together is compared.
    arrays: all that its backward reads, in the order in which `match` gives them: first those of the roots' gradients.
    leaves: the tensors that accumulate or are wanted. grads: for each leaf the index of its `.grad` among the arrays, or None.
    keepers: the nodes whose saved values a backward frees. size: how many nodes there are, with those that compiled
    functions have for several.
    """

    def __init__(self, roots: list[tuple[Any, Tensor]], wanted: list | None):
        self._wanted = None if wanted is None else _all_leaves(wanted)
        self._needed = None if wanted is None else nodes_leading([root for root, _ in roots], wanted)
        if self._needed is not None and not self._needed:
            raise Ineligible("none of the leaves whose gradients are wanted are reached")
        self.arrays: list[np.ndarray] = []
        self.leaves: list[Tensor] = []
        self.grads: list[int | None] = []
        self.operators = 0  # that compiled functions' backwards call
        self.keepers: list[Any] = []
        self.reached: list[bool] = []  # whether a path leads to each leaf that is wanted
        self._scope: dict[str, Any] = {
            "Leaf": Leaf,
            "ndarray": np.ndarray,
            "address": address,
            "fpmath": fpmath,
            "may_wait": may_wait,
            "moves": moves,
        }
        self._names: dict[int, str] = {}
        self._kept: list[str] = []
        self._lines: list[str | int] = []  # an int represents the test of that array
        self._known: dict[Any, str] = {root: f"n{i}" for i, (root, _) in enumerate(roots)}  # nodes and leaves
        if len(self._known) < len(roots) or any(type(root) is Leaf for root in self._known):
            raise Ineligible("a root that is a leaf, or is there twice")
        self._waiting: list[Any] = list(self._known)
        self._require(f"fpmath() == {fpmath()}")
        self._lines.append(f"({_listed([f'(n{i}, h{i})' for i in range(len(roots))])}) = roots")
        for i, (_, g) in enumerate(roots):
            self._array(f"h{i}._array", g._array)
        while self._waiting:
            self._node(self._waiting.pop())
        if wanted is not None:
            names = [f"w{i}" for i in range(len(wanted))]
            self._lines.append(f"({_listed(names)}) = wanted")
            self.reached = [leaf in self._known for leaf in wanted]
            ends = _listed([name for node, name in self._known.items() if type(node) is Leaf])
            for n, leaf in zip(names, wanted, strict=True):
                self._require(f"{n} is {self._known[leaf]}" if leaf in self._known else f"{n} not in ({ends})")
        self.size = len(self._known) - len(self.leaves) + self.operators // 2  # two calls each, as a rule

    @property
    def fingerprint(self) -> int:
        """What tapes like this one share, to count them by: only `matcher` knows for certain."""
        constants = (repr(value) for name, value in self._scope.items() if name.startswith("K"))
        arrays = ((a.shape, a.strides) for a in self.arrays)
        return hash((*map(str, self._lines), *constants, *arrays))

    def matcher(self, aliases: list[tuple[int, int]]) -> Match:
        """`match(roots, wanted)`: (arrays, leaves, nodes to free) of a tape like this one, None for any other and a stale one.

        aliases: pairs of arrays, the first of which is in the memory of the second; they have to do so again.
        """
        first = self._first_of_each()
        for i, j in aliases:
            if self.arrays[i] is not self.arrays[j] and first[id(self.arrays[i])] == i:
                distance = address(self.arrays[i]) - address(self.arrays[j])
                self._require(f"address(a{i}) - address(a{j}) == {distance}")
        for i, t in enumerate(self.leaves):
            known = first.get(id(t._array))
            self._require(f"t{i}._array is a{known}" if known is not None else self._geometry(f"t{i}._array", t._array))
        n = len(self.leaves)
        self._require(f"len({{{', '.join(f'l{i}' for i in range(n))}}}) == {n}")
        results = (
            [f"a{i}" for i in range(len(self.arrays))],
            [f"t{i}" for i in range(n)],
            self._kept,
        )
        lines = [self._array_test(line, first) if isinstance(line, int) else line for line in self._lines]
        text = "".join(f"        {line}\n" for line in lines)
        text += f"        return {', '.join(f'({_listed(names)})' for names in results)}\n"
        text = f"def match(roots, wanted):\n    try:\n{text}    except (AttributeError, TypeError, ValueError):\n        return None\n"
        scope = self._scope
        exec(compile(text, "<rushlight tape>", "exec"), scope)
        return scope.pop("match")

    # ------------------------------------------------------------------------------------------ text

    def _require(self, *conditions: str) -> None:
        self._lines.append(_unless(*conditions))

    def _first_of_each(self) -> dict[int, int]:
        """By id, the first index of each array."""
        first: dict[int, int] = {}
        for i, a in enumerate(self.arrays):
            first.setdefault(id(a), i)
        return first

    def _array_test(self, i: int, first: dict[int, int]) -> str:
        """The test of an array: its geometry, or that it is the same one as before."""
        known = first[id(self.arrays[i])]
        return _unless(self._geometry(f"a{i}", self.arrays[i]) if known == i else f"a{i} is a{known}")

    def _geometry(self, name: str, a: np.ndarray) -> str:
        strides = f" and {name}.strides == {a.strides}" if a.ndim else ""
        return f"{name}.shape == {a.shape} and {name}.dtype is {self._constant(a.dtype)}{strides}"

    def _constant(self, value: Any) -> str:
        """A name for an object."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"K{len(self._names)}"
            self._scope[name] = value
        return name

    def _array(self, expression: str, a: np.ndarray) -> None:
        if type(a) is not np.ndarray or any(s < 0 for s in a.strides):
            raise Ineligible("a tensor whose array is not NumPy's own")
        self._lines.append(f"a{len(self.arrays)} = {expression}")
        self._lines.append(len(self.arrays))
        self.arrays.append(a)

    # ------------------------------------------------------------------------------------------ nodes and leaves

    def _node(self, node: Any) -> None:
        name, cls = self._known[node], type(node)
        if self._needed is not None and node not in self._needed:
            self._require(f"type({name}) is {self._constant(cls)}")
            if cls is Leaf:
                self._require(f"{name} not in wanted")
            else:
                self._edges(name, node.edges)
            return
        target, inner = node, name
        tests = [
            f"type({name}) is {self._constant(cls)}",
            f"{name}.hooks is None",
            f"{name}.shape == {tuple(node.shape)!r}",
        ]
        if node.dtype is not None:
            tests.append(f"{name}.dtype is {self._constant(node.dtype)}")
        if node.hooks is not None:
            raise Ineligible("a tensor or node with a hook")
        if cls is Output:
            tests.append(f"{name}.index == {node.index}")
        elif cls is CopySlices:
            target, inner = node.inner, f"{name}.inner"
            tests.append(f"type({inner}) is {self._constant(type(target))}")
            tests.append(f"{inner}.hooks is None")
        self._require(*tests)
        self._edges(name, node.edges)
        if cls is Output:
            return
        if isinstance(target, CompiledFunctionBackward):
            self._program(name, target)
            return
        if type(target).op is None:
            raise Ineligible(f"the autograd.Function {type(target).__name__}")
        if cls is CopySlices:
            self._plain(f"{name}.chain", tuple((id(record), metadata) for record, metadata in node.chain), node.chain)
        self._saved(inner, target)
        if keeps_tensors(type(target)):
            self._kept.append(inner)
            self.keepers.append(target)

    def _edges(self, name: str, edges: tuple) -> None:
        names, tests = [], []
        for i, e in enumerate(edges):
            known = self._known.get(e)
            if known is None and e is not None:
                takes = type(e) is Leaf and (self._wanted is None or e in self._wanted)
                known = self._known[e] = f"l{len(self.leaves)}" if takes else f"n{len(self._known)}"
                names.append(known)
                if takes:
                    self.leaves.append(self._tensor_of(e))
                else:
                    self._waiting.append(e)
            else:
                names.append(f"e{i}")
                tests.append(f"e{i} is {known}")
        self._lines.append(f"({_listed(names)}) = {name}.edges")
        if tests:
            self._require(*tests)
        for n in names:
            if n[0] == "l":
                self._leaf(n[1:], self.leaves[int(n[1:])])

    def _tensor_of(self, leaf: Leaf) -> Tensor:
        t = leaf.ref()
        if t is None or t._edge is not leaf or not may_wait(leaf.hooks):
            raise Ineligible("a leaf that was freed or has a hook")
        if self._wanted is not None and leaf.hooks is not None:
            raise Ineligible("a leaf with a hook")
        flags = t._array.flags
        if not t._array.size or not (flags.c_contiguous or flags.f_contiguous):
            raise Ineligible("a leaf that is empty or not contiguous")
        return t

    def _leaf(self, i: str, t: Tensor) -> None:
        if self._wanted is not None:
            self._lines.append(f"t{i} = l{i}.ref()")
            self._require(f"type(l{i}) is Leaf", f"l{i}.hooks is None", f"t{i}._edge is l{i}")
            self.grads.append(None)
            return
        old, leaf, grad = t._grad, f"l{i}", f"g{i}"
        self._lines.append(f"t{i} = {leaf}.ref()")
        hooks = f"{leaf}.hooks is None" if t._edge.hooks is None else f"may_wait({leaf}.hooks)"  # type: ignore
        self._require(f"type({leaf}) is Leaf", hooks, f"t{i}._edge is {leaf}")
        if old is None:
            self._require(f"t{i}._grad is None")
            self.grads.append(None)
            return
        if type(old._array) is not np.ndarray:
            raise Ineligible("a .grad that is no plain tensor, such as a sparse one")
        flags = old._array.flags
        if old._edge is not None or not flags.writeable or not (flags.c_contiguous or flags.f_contiguous):
            raise Ineligible("a .grad that requires grad or is not a plain tensor")
        self._lines.append(f"{grad} = t{i}._grad")
        kind = self._constant(np.ndarray)
        self._require(f"{grad}._edge is None", f"type({grad}._array) is {kind}", f"{grad}._array.flags.writeable")
        self.grads.append(len(self.arrays))
        self._array(f"{grad}._array", old._array)

    # ------------------------------------------------------------------------------------------ what was saved

    def _saved(self, name: str, node: Any) -> None:
        saved = node.saved
        if type(saved) is not tuple:
            raise Ineligible("saved tensors that were freed (backward ran before)")
        self._lines.append(f"q = {name}.seq")
        names = [f"s{i}" for i in range(len(saved))]
        if names:
            self._lines.append(f"({_listed(names)}) = {name}.saved")
        for n, value in zip(names, saved, strict=True):
            self._value(n, value)
        self._lines.append(f"s = {name}.storage")
        self._require("(s is None or s.stamp <= q)")

    def _program(self, name: str, node: CompiledFunctionBackward) -> None:
        """The node of a compiled function: its backward, which becomes part of the tape's, and what it has kept."""
        if node.backward_of.refused is not None:
            raise Ineligible("a compiled function without a backward")
        if type(node.saved) is not tuple:
            raise Ineligible("saved tensors that were freed (backward ran before)")
        if node.is_moved():
            raise Ineligible("a parameter that was given other memory after a module's call")
        if node.eager is not None:
            raise Ineligible("a module's call whose eager history was made")
        self._require(f"{name}.backward_of is {self._constant(node.backward_of)}", f"{name}.eager is None")
        arrays = node.saved[0]
        self._lines.append(f"v, s, *_ = {name}.saved")
        self._lines.append(f"q = {name}.seq")
        self._require("all(x.stamp <= q for x in s)", f"(moves.latest <= q or not {name}.is_moved())")
        for i, a in enumerate(arrays):
            if a is not None:
                self._array(f"v[{i}]", a)
        self._kept.append(name)
        self.keepers.append(node)
        self.operators += len(node.backward_of.recorded.nodes)

    def _value(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._lines.append(f"s = {name}._storage")
            self._require("(s is None or s.stamp <= q)")
            self._array(f"{name}._array", value._array)
        elif isinstance(value, np.ndarray):
            self._require(f"type({name}) is ndarray")
            self._array(name, value)
        elif isinstance(value, (tuple, list)) and any(isinstance(v, (Tensor, np.ndarray)) for v in value):
            parts = [f"{name}_{i}" for i in range(len(value))]
            self._require(f"type({name}) is {type(value).__name__}")
            self._lines.append(f"({_listed(parts)}) = {name}")
            for n, v in zip(parts, value, strict=True):
                self._value(n, v)
        elif value is None or value is True or value is False:
            self._require(f"{name} is {value}")
        else:
            self._plain(name, value, value)

    def _plain(self, name: str, value: Any, compared: Any) -> None:
        """Require a value that is made of numbers and names."""
        if not _is_plain(value):
            raise Ineligible(f"a saved {type(value).__name__}")
        if isinstance(value, _BY_IDENTITY):
            self._require(f"{name} is {self._constant(value)}")
        elif type(value) is float and value == 0:
            self._require(f"type({name}) is float", f"repr({name}) == {repr(value)!r}")
        else:
            compared = list(compared) if type(compared) is list else compared
            self._require(f"type({name}) is {self._constant(type(compared))}", f"{name} == {self._constant(compared)}")


def _all_leaves(wanted: list) -> set[Leaf]:
    """What is wanted, where all of it are leaves, each once."""
    leaves = set(wanted)
    if len(leaves) != len(wanted) or any(type(e) is not Leaf for e in wanted):
        raise Ineligible("a gradient is wanted of what is no leaf, or twice")
    return leaves


def _unless(*conditions: str) -> str:
    return f"if not ({' and '.join(conditions)}): return None"


def _listed(names: list[str]) -> str:
    return "".join(f"{n}, " for n in names)


def _is_plain(value: Any) -> bool:
    if type(value) in (tuple, list, Size):
        return all(map(_is_plain, value))
    if type(value) is slice:
        return all(map(_is_plain, (value.start, value.stop, value.step)))
    return isinstance(value, (*_SIMPLE, *_BY_IDENTITY))


__all__ = ["Ineligible", "Match", "Tape"]
