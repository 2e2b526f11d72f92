"""`torch._C`: the few names of torch's inner module that programs reach for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from ..autograd.batched.tensor import active
from ..compile.jit.region import region
from ..core.device.devices import device
from ..core.dispatch.aten.function_schema import FunctionSchema
from ..core.dispatch.aten.schemas import parse
from ..core.dispatch.mode import is_grad_enabled, thread
from ..core.dispatch.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass, modes
from ..core.dispatch.torch_function import disabled_impl as _disabled_torch_function_impl
from ..core.random import Generator, default_generator
from ..core.tensor.dtype import dtype
from ..core.tensor.layout import layout, memory_format
from ..core.tensor.size import Size
from ..core.tensor.tensor import Tensor
from ..nn import functional
from ..nn.modules.conversion import _parse_to
from ..nn.told_functions import BUILT_IN
from ..ops.linalg.matrices import LinAlgError as _LinAlgError

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Future",
    "Generator",
    "Size",
    "_LinAlgError",
    "_are_functorch_transforms_active",
    "_disabled_torch_function_impl",
    "_get_default_device",
    "_log_api_usage_once",
    "default_generator",
    "device",
    "dtype",
    "is_grad_enabled",
    "layout",
    "memory_format",
    "parse_schema",
]

_TensorBase = TensorBase = Tensor
has_mkl = has_mps = has_cuda = has_xpu = False
has_openmp = True


T = TypeVar("T")


class Future(Generic[T]):
    """A value that some thread sets once. Programs make those of `torch.futures`; `then` and `collect_all` give these."""

    def __init__(self, devices: Any = None):
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error in its place, has come."""
        return self._done.is_set()

    def wait(self) -> T:
        """The value, when it has come. Raises the error that was set in its place."""
        self._done.wait()
        return self.value()

    def value(self) -> T:
        """The value. Raises RuntimeError where it has not come yet."""
        if not self.done():
            raise RuntimeError("value() can only be called after the future has completed; call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Set the value. Raises RuntimeError where one is set already."""
        self._complete(result, None)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Call `callback(self)` when the value comes, or now."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Any], Any]) -> Future:
        """A future of what `callback(self)` returns; what it raises comes as RuntimeError, with the error as its cause."""
        following: Future = Future()

        def run(_: Any) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                failure = RuntimeError(text)
                failure.__cause__ = error
                following._complete(None, failure)

        self.add_done_callback(run)
        return following


def parse_schema(schema: str) -> FunctionSchema:
    """The parts of an operator's schema: name, overload_name, arguments, returns.

    Raises RuntimeError for a text that is none, as in `parse_schema("f")`.
    """
    namespace, _, rest = (
        schema.strip().rpartition("::") if "::" in schema.partition("(")[0] else ("", "", schema.strip())
    )
    try:
        return FunctionSchema(parse(rest), namespace, rest)
    except (AssertionError, ValueError) as error:
        raise RuntimeError(
            f"parse_schema: {schema!r} is no schema, such as 'aten::relu(Tensor self) -> Tensor'"
        ) from error


def _get_privateuse1_backend_name() -> str:
    """The name of a backend that is registered from outside: there is none."""
    return "privateuseone"


def _log_api_usage_once(event: str) -> None:
    """Tell torch's usage statistics: there are none."""


def _get_default_device() -> str:
    """The type of the default device."""
    return "cpu"


def _are_functorch_transforms_active() -> bool:
    """Whether `vmap` runs in this thread. The other transforms work on plain tensors, which can be read."""
    return bool(active())


def _set_grad_enabled(arg: bool) -> None:
    """Whether calls are recorded for backward from here on: the function that graphs call."""
    thread.state.set(bool(arg), thread.state.inference)


def _is_torch_function_mode_enabled() -> bool:
    """Whether a TorchFunctionMode is active in this thread."""
    return bool(modes())


def _get_tracing_state() -> Any:
    """The recorder of `torch.jit.trace` that listens in this thread, or None, as while a module is exported."""
    listener = thread.state.listener
    return listener if getattr(listener, "is_jit_tracer", False) and not region.exporting else None


def _is_tracing() -> bool:
    """`torch.jit.is_tracing`."""
    return _get_tracing_state() is not None


class _Switch:
    """A setting of TorchScript's executor: it gives what was set before, and changes nothing, for graphs run as they are."""

    def __init__(self, value: bool, tells: bool = True):
        self._value, self._tells = value, tells

    def __call__(self, value: bool) -> bool | None:
        before, self._value = self._value, bool(value)
        return before if self._tells else None

    def value(self) -> bool:
        """What was set last."""
        return self._value


_jit_set_profiling_mode, _jit_set_profiling_executor = _Switch(True), _Switch(True)
_jit_override_can_fuse_on_cpu, _jit_override_can_fuse_on_gpu = _Switch(True, tells=False), _Switch(False, tells=False)
_jit_set_texpr_fuser_enabled = _Switch(True, tells=False)
_jit_set_nvfuser_enabled, _jit_set_nvfuser_guard_mode = _Switch(False, tells=False), _Switch(False, tells=False)
_jit_can_fuse_on_cpu = _jit_override_can_fuse_on_cpu.value


def _jit_can_fuse_on_gpu() -> bool:
    """False: there is no GPU here."""
    return False


def __getattr__(name: str) -> Any:
    if name == "_nn":  # where torch keeps the functions of nn.functional that are built in, and how `to` reads its own
        built_in = {m: getattr(functional, f) for f, m in BUILT_IN.items()}
        return SimpleNamespace(**built_in, pad=functional.pad, _parse_to=_parse_to)
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}: torch's inner module is not part of Rushlight")
