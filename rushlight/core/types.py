"""Names for annotations, imported for type checkers only (`if TYPE_CHECKING:`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from .device.devices import device
from .tensor import dtype as dtypes

# NumPy's stubs have no `.real` and `.imag` for a plain `np.ndarray`, whose type of elements they take for unknown
Array: TypeAlias = np.ndarray[Any, Any]
Number: TypeAlias = int | float | bool | complex
Ints: TypeAlias = int | Sequence[int]
Shape: TypeAlias = tuple[int, ...]
Device: TypeAlias = device | str | int | None
DType: TypeAlias = dtypes.dtype | type | None  # torch also takes Python's float, int and bool


class Reduce(Protocol):
    """`reduce` of a NumPy function with `keepdims` by position, which NumPy's stubs lack: a keyword costs 60 ns."""

    def __call__(
        self,
        a: Any,
        /,
        axis: int | Shape | None = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = True,
    ) -> Any: ...
