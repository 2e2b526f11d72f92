"""Where a program's inputs come from, and where its results go."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...backend.onednn.address import address, is_readable
from ...core.tensor.storage import address_of
from ...core.tensor.tensor import Tensor
from ..errors import TorchDynamoException
from ..ir.graph import Value


class CaptureError(TorchDynamoException):
    """A function does something that a captured program cannot repeat; the message names the line and a way out."""


class GraphBreakError(CaptureError):
    """A `CaptureError` where torch.compile breaks the graph, too: Python needs a value that a program computes."""


class Argument:
    """The tensor (or ndarray) at a position among the leaves of the call's arguments."""

    def __init__(self, index: int):
        self.index = index

    def key(self) -> tuple:
        return "argument", self.index

    def array(self, leaves: list) -> np.ndarray:
        leaf = leaves[self.index]
        return leaf if type(leaf) is np.ndarray else leaf._array

    def tensor(self, leaves: list) -> Any:
        return leaves[self.index]

    def __repr__(self) -> str:
        return f"argument {self.index}"


class External:
    """A tensor that exists outside: a parameter, a buffer, an optimizer's state, a tensor that the function refers to."""

    def __init__(self, tensor: Tensor):
        self.held = tensor

    def key(self) -> tuple:
        return "external", id(self.held)

    def array(self, leaves: list) -> np.ndarray:
        return self.held._array

    def tensor(self, leaves: list) -> Tensor:
        return self.held

    def __repr__(self) -> str:
        return f"tensor {list(self.held._array.shape)}"


class Attribute:
    """The tensor that a module's attribute or buffer holds when the call begins; the call puts another one there."""

    def __init__(self, scope: dict[str, Any], name: str):
        self.scope, self.name = scope, name

    def key(self) -> tuple:
        return "attribute", id(self.scope), self.name

    def array(self, leaves: list) -> np.ndarray:
        return self.scope[self.name]._array

    def tensor(self, leaves: list) -> Any:
        return self.scope.get(self.name)

    def __repr__(self) -> str:
        return f"attribute {self.name}"


class Gradient:
    """The `.grad` that another source's tensor has when the call begins."""

    def __init__(self, of: Argument | External):
        self.of = of

    def key(self) -> tuple:
        return ("gradient", *self.of.key())

    def array(self, leaves: list) -> np.ndarray:
        return self.of.tensor(leaves)._grad._array

    def tensor(self, leaves: list) -> Any:
        return self.of.tensor(leaves)._grad

    def __repr__(self) -> str:
        return f"gradient of {self.of!r}"


class Option:
    """A number in an optimizer's group that may change from step to step, as a 0-d float64 array."""

    def __init__(self, group: dict[str, Any], name: str, position: int | None):
        self.group, self.name, self.position = group, name, position

    def key(self) -> tuple:
        return "option", id(self.group), self.name, self.position

    def number(self) -> Any:
        value = self.group[self.name]
        return value if self.position is None else value[self.position]

    def array(self, leaves: list) -> np.ndarray:
        return np.array(self.number(), np.float64)

    def __repr__(self) -> str:
        return f"option {self.name}" + ("" if self.position is None else f"[{self.position}]")


class Incoming:
    """The gradient that arrives for one of the results (of a backward program)."""

    def __init__(self, index: int):
        self.index = index

    def key(self) -> tuple:
        return "incoming", self.index

    def __repr__(self) -> str:
        return f"gradient of result {self.index}"


class Kept:
    """A value that the forward program leaves for the backward one."""

    def __init__(self, index: int):
        self.index = index

    def key(self) -> tuple:
        return "kept", self.index

    def __repr__(self) -> str:
        return f"kept value {self.index}"


class Window(NamedTuple):
    """The dense memory below a source's tensor that is not dense itself: all of its extent as one axis."""

    source: Any
    size: int

    def key(self) -> tuple:
        return ("window", self.size, *self.source.key())

    def array(self, leaves: list) -> np.ndarray:
        a = self.source.array(leaves)
        return np.lib.stride_tricks.as_strided(a, (self.size,), (a.itemsize,))

    def tensor(self, leaves: list) -> Tensor:
        return self.source.tensor(leaves)


class Into(NamedTuple):
    """A result that replaces the content of an input's memory: the executable writes it there."""

    value: Value

    def key(self) -> tuple:
        return ("into",)


class Fresh(NamedTuple):
    """Result number `index` with memory of its own, an array that the executable returns."""

    index: int

    def key(self) -> tuple:
        return "fresh", self.index


class NoElements(NamedTuple):
    """New memory for a tensor without elements, which no program has to fill."""

    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def key(self) -> tuple:
        return "no elements", self.dtype.name, self.shape, self.strides

    def array(self, leaves: list) -> np.ndarray:
        strides = tuple(s * self.dtype.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(np.empty(0, self.dtype), self.shape, strides)

    def tensor(self, leaves: list) -> None:
        """No tensor from outside has this memory."""


_HAS_QUICK = is_readable()


def extent(a: np.ndarray) -> tuple[int, int]:
    """The addresses of an array's first byte and after its last."""
    low = high = address(a) if _HAS_QUICK and type(a) is np.ndarray else address_of(a)
    if a.flags.c_contiguous:
        return low, low + a.nbytes
    for n, s in zip(a.shape, a.strides, strict=True):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high + a.itemsize
