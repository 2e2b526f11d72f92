"""What `fully_shard` is told of types and of where parameters are."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.tensor.dtype import dtype

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Types of a module's computation; its parameters keep theirs, in which the optimizer updates them.

    param_dtype: that in which parameters are gathered and used. reduce_dtype: that in which gradients are averaged; without
    it, the gradients' own. output_dtype: that to which results are cast. cast_forward_inputs: whether arguments are cast to
    param_dtype.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on the device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """The parts are on the CPU, as everything is here: it changes nothing.

    pin_memory: taken for torch's sake; there is no device to copy to.
    """

    pin_memory: bool = True
