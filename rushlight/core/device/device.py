"""Where a tensor lives."""

from __future__ import annotations

from typing import Any

TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:
    """A device by type and index: `device("cpu")`, `device("cuda:1")`, `device("cuda", 1)`."""

    __slots__ = ("type", "index")
    type: str
    index: int | None

    def __init__(self, type: Any = None, index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {_type_name(type)}")
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
        """`with device("cpu"):` is where new tensors go. Raises for a device on which none can be placed."""
        return check(self)

    def __exit__(self, *error: object) -> None:
        pass

    def __reduce__(self):
        return device, (self.type, self.index) if self.index is not None else (self.type,)


def _type_name(value: object) -> str:
    return type(value).__name__


def _parse(text: str, index: int | None) -> tuple[str, int | None]:
    name, colon, number = text.partition(":")
    if not text:
        raise RuntimeError("Device string must not be empty")
    if name not in TYPES:
        if not name.isalpha():
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


def check(where: Any) -> device:
    """The device of a user's argument. Raises when this build cannot place a tensor there."""
    where = CPU if where is None else where if isinstance(where, device) else device(where)
    if where.type == "cuda":
        raise AssertionError(
            f"Torch not compiled with CUDA enabled: no CUDA device is available, cannot use {str(where)!r}. Run on the "
            "CPU with device='cpu', or guard the call with torch.cuda.is_available()."
        )
    if where.type != "cpu":
        if where.type in ("xpu", "mtia"):
            raise AssertionError(f"Torch not compiled with {where.type.upper()} enabled; use 'cpu'")
        raise NotImplementedError(
            f"PyTorch is not linked with support for {where.type} devices: device type {where.type!r} is not implemented; use "
            "'cpu'"
        )
    return where
