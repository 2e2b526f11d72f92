"""Nested tensors: the names of `torch.nested`.

A nested tensor holds tensors of unlike sizes as one: sequences of several lengths (layout `torch.jagged`), or anything of
equal rank (`torch.strided`). Operators run on the elements without padding.
"""

from __future__ import annotations

from typing import Any

from ...core.tensor.layout import strided
from .construct import copied, from_jagged, joined, narrowed

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A nested tensor, always a leaf, with copies of the tensors, or of the (nested) lists of numbers, of a list.

    Args:
        layout: strided (default), or jagged for tensors that differ in the size of one dimension.
    Shape: n tensors (s_i, *) -> (n, s_i, *)
    Raises:
        TypeError: not a list, as in `nested_tensor(ones(2, 2))`.
        RuntimeError: the ranks differ, as in `nested_tensor([ones(2), ones(2, 2)])`.
    """
    return copied(tensor_list, dtype, layout or strided, device, requires_grad, pin_memory)


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of a list of tensors, or of the slices of a tensor, through which gradients flow to them.

    Shape: n tensors (s_i, *) -> (n, s_i, *)
    """
    return joined(ts, dtype, device, layout or strided)


def nested_tensor_from_jagged(
    values: Any, offsets: Any = None, lengths: Any = None, jagged_dim: int | None = None, min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:  # fmt: skip
    """A nested tensor whose sequences follow one another in `values`, which it shares.

    Args:
        offsets: where each sequence begins, and the end of the last. lengths: of each, instead.
        jagged_dim: the dimension of the sequences in the result (default 1).
        min_seqlen, max_seqlen: known bounds of the lengths; they are found where they are needed.
    Shape: values (sum of lengths, *), offsets (n + 1) -> (n, length, *)
    Raises:
        RuntimeError: neither offsets nor lengths, as in `nested_tensor_from_jagged(ones(2))`.
    """
    return from_jagged(values, offsets, lengths, 1 if jagged_dim is None else jagged_dim)


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = strided) -> Any:
    """The parts from `start` on of `length` elements, of each row of a tensor, as a nested tensor.

    Args:
        dim: 1. start, length: a number, or a tensor with one for each row.
    Shape: (n, L, *) -> (n, length_i, *)
    """
    return narrowed(tensor, dim, start, length, layout)


def masked_select(tensor: Any, mask: Any) -> Any:
    """The elements of each row where `mask` is True, as a jagged nested tensor.

    Shape: (n, L), mask (n, L) -> (n, chosen_i)
    """
    chosen = mask.expand(tensor.shape)
    return from_jagged(tensor.masked_select(chosen), None, chosen.sum(-1), 1)


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any:
    """A dense tensor, filled up with `padding` behind each part.

    Args:
        output_size: of the result; default: the largest size along each dimension.
    Shape: (n, s_i, *) -> (n, max of s_i, *)
    """
    if out is not None:
        raise NotImplementedError("to_padded_tensor: out= is not implemented")
    return input.to_padded_tensor(padding, output_size)
