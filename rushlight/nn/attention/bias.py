"""`torch.nn.attention.bias`: causal masks for attention between queries and keys of different numbers."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from rushlight import ops
from rushlight.core.dispatch.torch_function import activate
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.functional import scaled_dot_product_attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Which corner of the mask the diagonal begins in."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A mask (L, S) that is true where a query sees a key; `attn_mask` of `scaled_dot_product_attention`.

    Raises AssertionError for a variant that is none.
    """

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        assert isinstance(variant, CausalVariant)
        activate()  # functions ask from now on
        shift = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        seen = ops.ones(seq_len_q, seq_len_kv, dtype=dtypes.bool_).tril(diagonal=shift)
        made = seen.as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as an ordinary tensor."""
        return self.as_subclass(Tensor).to(device or self.device)  # type: ignore[attr-defined]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Attention with the ordinary mask. Raises ValueError where it is causal besides."""
        kwargs = kwargs or {}
        if func is scaled_dot_product_attention:
            return cls._dispatch(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    @staticmethod
    def _dispatch(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Any,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **options: Any,
    ) -> Tensor:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        return scaled_dot_product_attention(query, key, value, attn_mask._materialize(), dropout_p, **options)

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """The mask (L, S) in which query i sees the keys 0 to i.

    >>> causal_upper_left(2, 3)._materialize()
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size))


def causal_lower_right(*size: int) -> CausalBias:
    """The mask (L, S) in which the last query sees all keys, and each one before it one less.

    >>> causal_lower_right(2, 3)._materialize()
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size))


def _two(size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError("causal_lower_right and causal_upper_left only support 2D tensors")
    return size[0], size[1]
