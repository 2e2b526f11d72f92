"""The casts of an autocast region, and what the calling thread has set about regions.

A region exists while autocast is enabled for the CPU. Operators reach it as `thread.state.autocast`; its casts are
ordinary calls, so that they are recorded for backward and seen by a capture.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from ..core.dispatch.autocast import INSIDE_OFF, LOWER, POLICIES, WIDEST
from ..core.dispatch.mode import thread
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor
from ..ops.shape.copying import _to_copy

if TYPE_CHECKING:
    from ..core.dispatch.op import Op


_NARROW = {dtypes.float16.numpy, dtypes.bfloat16.numpy, dtypes.float32.numpy}  # float64 is left as it is


class Region:
    """Brings the inputs of listed operators to `dtype`, to float32, or to the widest type among them."""

    __slots__ = ("dtype", "caching", "_casts")

    def __init__(self):
        self.dtype = dtypes.bfloat16
        self.caching = True
        self._casts: dict[tuple, tuple] = {}

    def inputs(self, record: Op, tensors: tuple) -> tuple:
        """What a primitive receives in place of `tensors`."""
        policy = POLICIES.get(record.name)
        if policy is None:
            return tensors
        return self.cast(tensors, policy)

    def around(self, f: Any, policy: str, args: tuple, kwargs: dict) -> Any:
        """Call a composite on arguments that are cast as a whole; the region is off inside."""
        if policy is not INSIDE_OFF:
            args = tuple(self._each(a, policy) for a in args)
            kwargs = {k: self._each(v, policy) for k, v in kwargs.items()}
        state = thread.state
        state.autocast = None
        state.refresh()
        try:
            return f(*args, **kwargs)
        finally:
            state.autocast = self
            state.refresh()

    def _each(self, value: Any, policy: str) -> Any:
        if isinstance(value, Tensor):
            return self.cast((value,), policy)[0]
        if isinstance(value, (list, tuple)):
            return type(value)(self._each(v, policy) for v in value) if type(value) in (list, tuple) else value
        return value

    def cast(self, tensors: tuple, policy: str) -> tuple:
        """The tensors as `policy` wants them; whatever is no tensor, or not of a narrow floating type, stays."""
        if policy is WIDEST:
            return self._to(tensors, self._widest(tensors))
        return self._to(tensors, self.dtype if policy is LOWER else dtypes.float32)

    def _to(self, tensors: tuple, d: Any) -> tuple:
        return tuple([self._cast(t, d) for t in tensors])

    def _cast(self, t: Any, d: Any) -> Any:
        if not isinstance(t, Tensor):
            return t
        old = t._array.dtype
        if old == d.numpy or old not in _NARROW:
            return t
        if self.caching and d is self.dtype and t._edge is not None and t._view is None and t.is_leaf:
            return self._cached(t, d)
        return _to_copy(t, d)

    def _cached(self, t: Tensor, d: Any) -> Tensor:
        """The cast of a leaf that requires grad, usually a parameter: made once until the outermost region ends.

        A cast that was recorded does not replace one that was not, nor what a recorder saw for what it did not see.
        """
        state = thread.state
        key = id(t), state.grad
        known = self._casts.get(key)
        if known is not None and known[0]() is t and known[1] is state.listener and known[2]._array.dtype == d.numpy:
            return known[2]
        result = _to_copy(t, d)
        self._casts[key] = weakref.ref(t), state.listener, result
        return result

    def copy(self) -> Region:
        """A region alike that has kept no casts yet."""
        other = Region()
        other.dtype, other.caching = self.dtype, self.caching
        return other

    def forget(self) -> None:
        """Drop the casts that are kept."""
        self._casts.clear()

    def _widest(self, tensors: tuple) -> Any:
        widest = self.dtype
        for t in tensors:
            old = t._array.dtype if isinstance(t, Tensor) else None
            if old not in _NARROW or old == widest.numpy:
                continue
            if old != dtypes.float32.numpy and widest is not dtypes.float32:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
            widest = dtypes.float32
        return widest


class _Settings(threading.local):
    """What `autocast` sets in one thread: by device whether it is on, and in which type."""

    def __init__(self):
        self.region = Region()
        self.nesting = 0
        self.enabled: dict[str, bool] = {}  # of other devices than the CPU
        self.dtypes = {
            "cpu": dtypes.bfloat16, "hpu": dtypes.bfloat16, "ipu": dtypes.float16, "xla": dtypes.bfloat16,
            "cuda": dtypes.float16, "xpu": dtypes.float16, "mps": dtypes.float16, "mtia": dtypes.float16,
            "maia": dtypes.float16, "privateuseone": dtypes.float16,
        }  # fmt: skip

    def enable(self, device: str, enabled: bool) -> None:
        """Turn autocast on or off."""
        if device != "cpu":
            self.enabled[device] = enabled
            return
        thread.state.autocast = self.region if enabled else None
        thread.state.refresh()

    def is_enabled(self, device: str) -> bool:
        """Whether autocast is on."""
        return thread.state.autocast is not None if device == "cpu" else self.enabled.get(device, False)

    def set_dtype(self, device: str, d: dtypes.dtype) -> None:
        """Set the type that autocast lowers to."""
        self.dtypes[device] = d
        if device == "cpu":
            self.region.dtype = d


settings = _Settings()
