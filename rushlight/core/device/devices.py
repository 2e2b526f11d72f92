"""Where a tensor lives: the names of devices, those that exist, and the one on which new tensors are made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from .backend import Backend

TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:
    """A device by type and index: `device("cpu")`, `device("cuda:1")`, `device("cuda", 1)`."""

    __slots__ = ("type", "index")
    type: str
    index: int | None

    @overload
    def __init__(self, type: Any, index: int | None = None) -> None: ...
    @overload
    def __init__(self, *, device: Any) -> None: ...

    def __init__(self, type: Any = None, index: int | None = None, *, device: Any = None):
        if device is not None:
            if type is not None or index is not None:
                raise TypeError('device() missing 1 required positional arguments: "type"')
            type = device
        if isinstance(type, self.__class__):
            type, index = type.type, type.index
        elif isinstance(type, int):
            _check_index(type)
            type, index = _type_by_number(), type
        elif not isinstance(type, str):
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({'' if type is None else _type_name(type)}), "
                "but expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n"
            )
        if index is not None:
            _check_index(index)
        self.type, self.index = _parse(type, index)

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> device:
        """`with device("meta"):` is where new tensors go. Raises for a device on which none can be placed."""
        where = backend(self)
        redirected.append(where)
        _default.stack.append(where)
        return self

    def __exit__(self, *error: object) -> None:
        redirected.remove(_default.stack.pop())

    def __call__(self, function: Callable) -> Callable:
        """Decorator: the function runs within `with device(...):`."""
        from functools import wraps

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call

    def __reduce__(self):
        return device, (self.type, self.index) if self.index is not None else (self.type,)


def _type_name(value: object) -> str:
    return type(value).__name__


def _is_type(name: str) -> bool:
    """Whether this can be the type of a device: letters of ASCII and `_`, as in torch."""
    return name.isascii() and name.replace("_", "").isalpha()


def _check_index(index: Any) -> None:
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
    if index < 0:
        raise RuntimeError(f"Device index must not be negative, got {index}")


def _parse(text: str, index: int | None) -> tuple[str, int | None]:
    name, colon, number = text.partition(":")
    if not text:
        raise RuntimeError("Device string must not be empty")
    if name not in TYPES and not (_is_type(name) and is_known(name)):
        if not _is_type(name):
            raise RuntimeError(f"Invalid device string: '{text}'")
        raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {text}")
    if colon:
        if not number.isdigit() or (number[0] == "0" and number != "0"):
            raise RuntimeError(f"Invalid device string: '{text}'")
        if index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {text}")
        index = int(number)
    return name, index


CPU = device("cpu")
NO_ACCELERATOR = "Cannot access accelerator device when none is available."


# ---------------------------------------------------------------------------------------------- those that exist

_openers: dict[str, Callable[[int | None], Backend]] = {}
_counts: dict[str, Callable[[], int]] = {}
_backends: dict[tuple[str, int | None], Backend] = {}
_seed: int | None = None  # of the random streams of devices that are opened later


def register(kind: str, open: Callable[[int | None], Backend], count: Callable[[], int] | None = None) -> None:
    """Make `device(kind)` exist: `open(index)` returns its backend, once for each index.

    count: how many there are, for a kind that a number alone may mean, as `device(0)`.
    Raises ValueError for a name that is no device type, as in "kind:index".
    """
    if not _is_type(kind):
        raise ValueError(f"a device's type consists of letters and '_'; got {kind!r}")
    _openers[kind] = open
    if count is not None:
        _counts[kind] = count


def _type_by_number() -> str:
    """The type of `device(0)`: that of the accelerator. Raises RuntimeError where there is none."""
    known = accelerator()
    kind = known.device.type if known is not None else next((k for k, count in _counts.items() if count()), None)
    if kind is None:
        raise RuntimeError(NO_ACCELERATOR)
    return kind


def _opener(kind: str) -> Callable[[int | None], Backend] | None:
    """The function that opens devices of this type, from this package or from an entry point of another one."""
    if kind not in _openers and kind != "cpu":
        from importlib.metadata import entry_points

        for point in entry_points(group="rushlight.devices", name=kind):
            _openers[kind] = point.load()
    return _openers.get(kind)


def accelerator() -> Backend | None:
    """The device in use that is neither the CPU nor `meta`; None where there is none."""
    return next((b for b in opened() if b.device.type != "meta"), None)


def is_known(kind: str) -> bool:
    """Whether a package here has devices of this type."""
    return _opener(kind) is not None


def opened() -> list[Backend]:
    """The backends of all devices that were used so far."""
    return list({id(b): b for b in _backends.values()}.values())


def manual_seed(seed: int) -> None:
    """Restart the random streams of all devices other than the CPU, those that are opened later too."""
    global _seed
    _seed = seed
    for where in opened():
        where.manual_seed(seed)


def backend(where: Any) -> Backend | None:
    """The backend of a user's argument, None for the CPU. Raises where tensors cannot be placed there.

    An argument of None means the device of new tensors: that of the innermost `with device(...)`, else the default one.
    """
    if where is None:
        return _default.stack[-1] if _default.stack else _default.base
    where = where if isinstance(where, device) else device(where)
    if where.type == "cpu":
        return None
    found = _backends.get((where.type, where.index))
    if found is None:
        open = _opener(where.type)
        if open is None:
            raise absent(where)
        found = open(where.index)
        if _seed is not None and (found.device.type, found.device.index) not in _backends:
            found.manual_seed(_seed)
        found = _backends.setdefault((found.device.type, found.device.index), found)
        _backends[where.type, where.index] = found
    return found


class _Default(threading.local):
    """Where new tensors of a thread go: the innermost `with device(...)`, else the default device."""

    def __init__(self) -> None:
        self.base: Backend | None = None
        self.stack: list[Backend | None] = []


_default = _Default()
redirected: list[Any] = []  # not empty while new tensors may go to another device than the CPU in some thread


def set_default(where: Any) -> None:
    """Make `where` the device of new tensors in this thread; None: the CPU."""
    found = None if where is None else backend(where)
    if _default.base is not None:
        redirected.remove(_default.base)
    if found is not None:
        redirected.append(found)
    _default.base = found


def default() -> device:
    """The device of new tensors."""
    where = backend(None)
    return CPU if where is None else where.device


def check(where: Any) -> device:
    """The device of a user's argument. Raises when this build cannot place a tensor there."""
    if where is None:
        return default()
    found = backend(where)
    return (where if isinstance(where, device) else device(where)) if found is None else found.device


def absent(where: device) -> Exception:
    """The error of a device that is not there, with torch's message."""
    if where.type == "cuda":
        return AssertionError(
            f"Torch not compiled with CUDA enabled: no CUDA device is available, cannot use {str(where)!r}. Run on the "
            "CPU with device='cpu', or guard the call with torch.cuda.is_available()."
        )
    if where.type in ("xpu", "mtia"):
        return AssertionError(f"Torch not compiled with {where.type.upper()} enabled; use 'cpu'")
    return NotImplementedError(
        f"PyTorch is not linked with support for {where.type} devices: device type {where.type!r} is not implemented; use 'cpu'"
    )
