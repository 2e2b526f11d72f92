"""Sequences of different lengths in one tensor: padded to a rectangle, or packed step by step.

Packed, the elements of all sequences that still run at step 0 come first, then those of step 1, and so on;
``batch_sizes`` says how many run at each step, which takes the sequences longest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import index
from typing import Any, NamedTuple, Self

import numpy as np

from rushlight import ops
from rushlight.core.dispatch.errors import argument_type
from rushlight.core.dispatch.extension_points import profiled_block
from rushlight.core.dispatch.mode import thread
from rushlight.core.dispatch.scalars import check_flag, check_number, type_name
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.node import shown_as
from rushlight.core.tensor.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Packed sequences, made by `pack_padded_sequence` and `pack_sequence`.

    ``data`` (elements, *), ``batch_sizes`` (longest length,); ``sorted_indices`` (batch,) the order in which the
    sequences were taken and ``unsorted_indices`` its inverse, or None for the order given.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the data as `Tensor.to` does; the same object if there is nothing to do."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order, inverse = (
            None if t is None else t.to(data.device) for t in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, order, inverse)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Move to main memory."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a CUDA device; raises where there is none."""
        return self.to(*args, **{"device": "cuda", **kwargs})

    def double(self) -> Self:
        """Convert the data to float64."""
        return self.to(dtype=dtypes.float64)

    def float(self) -> Self:
        """Convert the data to float32."""
        return self.to(dtype=dtypes.float32)

    def half(self) -> Self:
        """Convert the data to float16."""
        return self.to(dtype=dtypes.float16)

    def long(self) -> Self:
        """Convert the data to int64."""
        return self.to(dtype=dtypes.int64)

    def int(self) -> Self:
        """Convert the data to int32."""
        return self.to(dtype=dtypes.int32)

    def short(self) -> Self:
        """Convert the data to int16."""
        return self.to(dtype=dtypes.int16)

    def char(self) -> Self:
        """Convert the data to int8."""
        return self.to(dtype=dtypes.int8)

    def byte(self) -> Self:
        """Convert the data to uint8."""
        return self.to(dtype=dtypes.uint8)

    def pin_memory(self) -> Self:
        """Move to page-locked memory; raises where there is no device that would use it."""
        order, inverse = (None if t is None else t.pin_memory() for t in (self.sorted_indices, self.unsorted_indices))
        return type(self)(self.data.pin_memory(), self.batch_sizes, order, inverse)

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one.

    Shape: (n) -> (n)

    >>> invert_permutation(tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


# Padding --------------------------------------------------------------------------------------------------------------


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """The sequences side by side, the shorter ones filled up.

    Args:
        padding_side: "right" or "left".
    Shape: (length, *), ... -> (longest, batch, *), or (batch, longest, *) with `batch_first`
    Raises:
        RuntimeError: `padding_side` is another text, as in `pad_sequence([ones(2)], padding_side="x")`.

    >>> pad_sequence([tensor([1, 2]), tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    check_flag("pad_sequence", "batch_first", batch_first, 2)
    check_number("pad_sequence", "padding_value", padding_value, "float")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    listed = list(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    for i, s in enumerate(listed):
        if not isinstance(s, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(s)}")
    longest, first = max([sequence.size(0) for sequence in listed]), listed[0]
    if _are_plain(listed):
        size = (len(listed), longest) if batch_first else (longest, len(listed))
        out = first.new_full((*size, *first._array.shape[1:]), padding_value)
        rows = out._array if batch_first else out._array.swapaxes(0, 1)
        for row, sequence in zip(rows, listed, strict=True):
            n = len(sequence._array)
            row[longest - n if padding_side == "left" else 0 :][:n] = sequence._array
        return out
    listed = [_as_copied(sequence, first) for sequence in listed]
    padded = [_fill_up(sequence, longest, padding_value, padding_side) for sequence in listed]
    return shown_as(ops.stack(padded, 0 if batch_first else 1), "CopySlices")


def _are_plain(sequences: list[Tensor]) -> bool:
    """Whether they are arrays of one type and trailing shape that nothing has to record, so that rows can be written."""
    state, first = thread.state, sequences[0]._array
    if state.level > 1 or profiled_block.value is not None:
        return False
    for s in sequences:
        a = s._array
        if type(s) is not Tensor or type(a) is not np.ndarray or (state.level > 0 and s._edge is not None):
            return False
        if a.dtype is not first.dtype or a.shape[1:] != first.shape[1:]:
            return False
    return True


def _as_copied(sequence: Tensor, first: Tensor) -> Tensor:
    """What a copy into a tensor like the first sequence makes of another one."""
    if sequence.shape[1:] == first.shape[1:] and sequence.dtype == first.dtype:
        return sequence
    return first.new_empty((sequence.size(0), *first.shape[1:])).copy_(sequence)


def _fill_up(sequence: Tensor, length: Any, value: Any, side: str) -> Tensor:
    missing = length - sequence.size(0)
    if missing == 0:
        return sequence
    filler = sequence.new_full((missing, *sequence.shape[1:]), value)
    return ops.cat([filler, sequence] if side == "left" else [sequence, filler])


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, each at its length. Inverse of `pad_sequence` with padding on the right.

    Shape: (longest, batch, *), or (batch, longest, *) with `batch_first`; lengths (batch) -> (length, *), ...

    >>> unpad_sequence(tensor([[1, 2], [3, 0]]), tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    places = ops.arange(rows.shape[1])
    return [row[places < length] for row, length in zip(rows, lengths, strict=True)]  # copies, as in torch


# Packing --------------------------------------------------------------------------------------------------------------


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[Any], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences into a `PackedSequence`, whose data has the first step of all, the second of all, ...

    Args:
        lengths: of each sequence, at least 1.
        enforce_sorted: the sequences must come longest first; otherwise they are sorted here.
    Shape: (longest, batch, *), or (batch, longest, *) with `batch_first`; lengths (batch) -> data (sum of lengths, *)
    Raises:
        RuntimeError: they do not come longest first, as in `pack_padded_sequence(ones(2, 2), [1, 2])`.
        RuntimeError: a length is 0, as in `pack_padded_sequence(ones(2, 1), [0])`.

    >>> pack_padded_sequence(tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    if not isinstance(input, Tensor):
        raise argument_type("_pack_padded_sequence", "input", 1, input)
    if not isinstance(lengths, Tensor):
        lengths = ops.as_tensor([index(n) for n in _listed(lengths)], dtype=dtypes.int64, device="cpu")
    lengths = lengths.to("cpu", dtypes.int64)
    if lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D cpu Long tensor"
        )
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    check_flag("_pack_padded_sequence", "batch_first", batch_first, 3)
    order = None
    steps_first = input.transpose(0, 1) if batch_first else input
    if not enforce_sorted:
        lengths, order = ops.sort(lengths, descending=True)
        order = order.to(input.device)
        steps_first = steps_first.index_select(1, order)
    counts = lengths.tolist()
    _check_lengths(counts, steps_first.size(1))
    batch_sizes = [sum(count > step for count in counts) for step in range(max(counts))]
    rows = steps_first.reshape(-1, *steps_first.shape[2:])
    data = rows.index_select(0, _packed_places(batch_sizes, len(counts), input.device))
    return PackedSequence(data, ops.tensor(batch_sizes, dtype=dtypes.int64, device="cpu"), order, None)


def _listed(lengths: Any) -> list[Any]:
    return lengths if isinstance(lengths, list) else list(lengths) if isinstance(lengths, Iterable) else [lengths]


def _check_lengths(lengths: list[Any], batch: Any) -> None:
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})"
        )
    if lengths[-1] <= 0:  # the shortest, if they are in order
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(later > earlier for earlier, later in pairwise(lengths)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )


def _packed_places(batch_sizes: list[Any], batch: Any, device: Any) -> Tensor:
    """Where the packed elements are among the rows of a padded tensor, steps first."""
    places = [step * batch + n for step, size in enumerate(batch_sizes) for n in range(size)]
    return ops.tensor(places, device=device)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: Any = None
) -> tuple[Tensor, Tensor]:
    """The padded tensor and the lengths, in the order from before packing. Inverse of `pack_padded_sequence`.

    Args:
        total_length: pad to this length.
    Shape: data (sum of lengths, *) -> (longest, batch, *), or (batch, longest, *) with `batch_first`; lengths (batch)
    Raises:
        ValueError: a sequence is longer than `total_length`, as in
            `pad_packed_sequence(pack_sequence([ones(2)]), total_length=1)`.

    >>> pad_packed_sequence(pack_sequence([tensor([1, 2]), tensor([3])]), batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    batch_sizes = sequence.batch_sizes.tolist()
    length = len(batch_sizes) if total_length is None else total_length
    if length < len(batch_sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(batch_sizes)}"
        )
    batch, rest = batch_sizes[0], sequence.data.shape[1:]
    empty = sequence.data.new_full((length * batch, *rest), padding_value)
    places = _packed_places(batch_sizes, batch, sequence.data.device)
    padded = empty.index_copy(0, places, sequence.data).reshape(length, batch, *rest)
    lengths = ops.tensor([sum(size > n for size in batch_sizes) for n in range(batch)], device="cpu")
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:  # makes the memory that draws of a later dropout go through
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return padded, lengths


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences into a `PackedSequence`, whose data has the first step of all, the second of all, ...

    Args:
        enforce_sorted: the sequences must come longest first; otherwise they are sorted here.
    Shape: (length, *), ... -> data (sum of lengths, *)
    Raises:
        RuntimeError: they do not come longest first, as in `pack_sequence([ones(1), ones(2)])`.

    >>> pack_sequence([tensor([1, 2]), tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of `pack_sequence`.

    Shape: data (sum of lengths, *) -> (length, *), ...

    >>> unpack_sequence(pack_sequence([tensor([1, 2]), tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
