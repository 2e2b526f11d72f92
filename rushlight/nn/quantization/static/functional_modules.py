"""Operators with an observer of their result: `FloatFunctional`, and `QFunctional`, which takes its place.

Both have the methods `add`, `mul`, `cat`, `add_relu` and `matmul`, and `add_scalar` and `mul_scalar`, whose results are not
observed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import ops
from ....core.tensor.tensor import Tensor, wrap
from ....ops.quantized import functions
from ... import modules as nn
from ...modules.module import Module

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


class FXFloatFunctional(Module):
    """The operators of `FloatFunctional` without an observer."""

    def forward(self, x: Any) -> Any:
        """Raises RuntimeError: methods are called instead."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def _observed(self, x: Any) -> Any:
        return x

    def add(self, x: Tensor, y: Tensor) -> Any:
        """x + y"""
        return self._observed(ops.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Any:
        """x + y for a number y"""
        return ops.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Any:
        """x y"""
        return self._observed(ops.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Any:
        """x y for a number y"""
        return ops.mul(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors one after the other."""
        return self._observed(ops.cat(x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """max(x + y, 0)"""
        return self._observed(ops.relu(ops.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Any:
        """x @ y"""
        return self._observed(ops.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Operators whose results are observed. A model has one for each place that is to have a scale of its own.

    >>> FloatFunctional().add(tensor(3.0), tensor(4.0))
    tensor(7.)
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Any = nn.Identity()

    def _observed(self, x: Any) -> Any:
        return self.activation_post_process(x)


class QFunctional(Module):
    """Operators of quantized tensors, whose results have this module's `scale` and `zero_point`."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0
        self.zero_point = 0
        self.activation_post_process: Any = nn.Identity()

    def forward(self, x: Any) -> Any:
        """Raises RuntimeError: methods are called instead."""
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """x + y"""
        return self.activation_post_process(functions.add(x, y, self.scale, self.zero_point))

    def add_scalar(self, x: Any, y: float) -> Any:
        """x + y for a number y, which changes the zero point"""
        return functions.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """x y"""
        return self.activation_post_process(functions.mul(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """x y for a number y, which changes the scale"""
        return functions.mul_scalar(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors one after the other."""
        return self.activation_post_process(functions.cat(x, dim, self.scale, self.zero_point))

    def add_relu(self, x: Any, y: Any) -> Any:
        """max(x + y, 0)"""
        return self.activation_post_process(functions.add_relu(x, y, self.scale, self.zero_point))

    def matmul(self, x: Any, y: Any) -> Any:
        """x @ y"""
        return functions.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """The module for a `FloatFunctional` that has observed its results."""
        if type(mod) is not FloatFunctional:
            raise AssertionError(
                f"QFunctional.from_float expects an instance of FloatFunctional, got {type(mod).__name__}"
            )
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made = QFunctional()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = wrap(np.array(self.scale, np.float32))
        destination[prefix + "zero_point"] = wrap(np.array(self.zero_point))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)
