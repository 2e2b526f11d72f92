"""`torch.functional`: where torch keeps some operators that are written in Python. Each is `torch.<name>`."""

from typing import Any

from ..core.dispatch.op import OPS

__all__ = [
    name
    for name in (
        "atleast_1d", "atleast_2d", "atleast_3d", "align_tensors", "block_diag", "broadcast_shapes", "broadcast_tensors",
        "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "split", "stft",
        "tensordot", "unique", "unique_consecutive", "unravel_index",
    )
    if name in OPS
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in OPS:
        return OPS[name]
    raise AttributeError(f"module 'torch.functional' has no attribute {name!r}: Rushlight does not have it")
