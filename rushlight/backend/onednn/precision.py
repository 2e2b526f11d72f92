"""How float32 products may be computed: `set_float32_matmul_precision`, in oneDNN's terms."""

from .primitives import ALLOW_BF16, STRICT

__all__ = ["fpmath", "rounds", "set_fpmath"]

_mode = STRICT


def fpmath() -> int:
    """The fpmath mode that a primitive for a product of float32 is made with, and a part of its signature.

    STRICT, or ALLOW_BF16 under 'medium': the factors are rounded to bfloat16 where the processor multiplies these faster.
    """
    return _mode


def rounds() -> bool:
    """Whether the factors of large products of float32 may be rounded to bfloat16."""
    return _mode == ALLOW_BF16


def set_fpmath(precision: str) -> None:
    """Choose by torch's word: only 'medium' changes anything, as 'high' means TensorFloat32, which CPUs lack."""
    global _mode
    _mode = ALLOW_BF16 if precision == "medium" else STRICT
