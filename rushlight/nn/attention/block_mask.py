"""`BlockMask`: which blocks of an attention matrix are used, and the functions that make masks for `flex_attention`.

A mask of (Q, K) places is cut into blocks. For each row of blocks, `kv_num_blocks` counts those that hold anything, and
`kv_indices` lists their columns (the used ones first); blocks that hold everything are in lists of their own, `full_kv_*`.
The `q_*` lists are the same by columns. All counts and indices are int32.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import islice, product
from math import prod
from typing import Any

from rushlight import ops
from rushlight.core.tensor.dtype import bool_, int32
from rushlight.core.tensor.tensor import Tensor

from .positions import at_positions

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30


# ------------------------------------------------------------------------------------------ functions of a position


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask_mod that leaves every place in."""
    return batch.new_ones((), dtype=bool_)


def _sliced_mask_mod_error(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Any:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. A part of a BlockMask does not know its offset in the whole: set "
        "its mask_mod from the original one's, shifted as needed."
    )


def or_masks(*mask_mods: Callable) -> Callable:
    """A mask_mod that is True where any of the given ones is."""
    _need_functions(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=bool_)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: Callable) -> Callable:
    """A mask_mod that is True where all of the given ones are."""
    _need_functions(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=bool_)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _need_functions(mask_mods: tuple) -> None:
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def _takes_score(mod: Callable) -> bool:
    """Whether a modification takes five arguments, the score and four indices, and not the indices alone."""
    parameters = inspect.signature(mod).parameters.values()
    count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """What `mod_fn` says at every position: (B, H, Q_LEN, KV_LEN), bool; None means 1.

    A mask_mod's own answers; for a score_mod, whether it leaves a score of zero above -inf.
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if not _takes_score(mod_fn):
        return at_positions(mod_fn, sizes)
    return ~ops.isneginf(at_positions(mod_fn, sizes, ops.zeros(sizes)))


def create_block_mask(
    mask_mod: Callable,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The `BlockMask` of `mask_mod(b, h, q_idx, kv_idx)`, for B x H matrices (None: one for all) of (Q_LEN, KV_LEN).

    BLOCK_SIZE: of a block, (rows, columns) or one number for both. separate_full_blocks: list blocks that hold everything
    separately. NotImplementedError for compute_dq_write_order, which orders the sums of a GPU's kernel.
    """
    if _takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if compute_dq_write_order:
        raise NotImplementedError("create_block_mask(compute_dq_write_order=True) is not implemented")
    size = _pair(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    partial, full = _convert_mask_to_block_mask(mask, *size, separate_full_blocks)
    lists = [*_dense_to_ordered(partial), *(_dense_to_ordered(full) if full is not None else (None, None))]
    return BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


# ------------------------------------------------------------------------------------------ blocks


def _convert_mask_to_block_mask(
    mask: Tensor,
    Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
    KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
    separate_full_blocks: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """(partly used blocks, full blocks or None), each (B, H, rows, columns) of 0 and 1, int8."""
    if mask.dtype is not bool_:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    mask = mask.view((1,) * (4 - mask.dim()) + tuple(mask.shape)) if mask.dim() < 4 else mask
    over = -mask.shape[-1] % KV_BLOCK_SIZE, -mask.shape[-2] % Q_BLOCK_SIZE
    if any(over):
        mask = ops.pad(mask, (0, over[0], 0, over[1]))
    B, H, Q, KV = mask.shape
    blocks = mask.reshape(B, H, Q // Q_BLOCK_SIZE, Q_BLOCK_SIZE, KV // KV_BLOCK_SIZE, KV_BLOCK_SIZE)
    used = blocks.permute(0, 1, 2, 4, 3, 5).sum(dim=(-2, -1))
    if not separate_full_blocks:
        return (used > 0).char(), None
    whole = Q_BLOCK_SIZE * KV_BLOCK_SIZE
    return ((used > 0) & (used < whole)).char(), (used == whole).char()


def _dense_to_ordered(dense_mask: Tensor) -> tuple[Tensor, Tensor]:
    """(how many columns of each row are used, all columns with the used ones first)."""
    dense = dense_mask.int()
    return dense.sum(dim=-1).int(), dense.argsort(dim=-1, descending=True, stable=True).int()


def _ordered_to_dense(num_blocks_in_row: Tensor, col_indices: Tensor, num_cols: int) -> Tensor:
    """The other way: (*, rows, num_cols) of 0 and 1, int32."""
    used = ops.arange(col_indices.shape[-1], dtype=int32) < num_blocks_in_row.unsqueeze(-1)
    columns = ops.where(used, col_indices, ops.full_like(col_indices, num_cols)).long()  # unused ones go past the end
    dense = ops.zeros((*col_indices.shape[:-1], num_cols + 1), dtype=int32)
    return dense.scatter(-1, columns, ops.ones_like(columns).int())[..., :num_cols].contiguous()


def _transpose_ordered(num_blocks_in_row: Tensor, col_indices: Tensor) -> tuple[Tensor, Tensor]:
    return _dense_to_ordered(_ordered_to_dense(num_blocks_in_row, col_indices, col_indices.shape[-1]).transpose(-2, -1))


def _cropped(num_blocks: Tensor, indices: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    indices, num_blocks = indices[:, :, :rows, :columns], num_blocks[:, :, :rows].clamp(max=columns)
    return (indices < num_blocks.unsqueeze(-1)).sum(dim=-1).int(), indices


class BlockMask:
    """A block-sparse mask for `flex_attention`; `create_block_mask` makes one of a function, `from_kv_blocks` of lists.

    Shape: kv_num_blocks (B, H, rows), kv_indices (B, H, rows, columns); `shape` is (B, H, Q, K).
    """

    _TENSOR_ATTRS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: Callable = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, count, places in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (count is None) != (places is None):
                raise AssertionError(f"full_{name}_num_blocks and full_{name}_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Callable | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """The mask of the lists by rows; those by columns are worked out, unless compute_q_blocks=False.

        seq_lengths: (Q, K); by default as long as the blocks are.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        by_columns: list[Tensor | None] = [None] * 4
        if compute_q_blocks:
            by_columns[:2] = _transpose_ordered(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                by_columns[2:] = _transpose_ordered(full_kv_num_blocks, full_kv_indices)
        size = _pair(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        by_rows = kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices
        return cls(seq_lengths, *by_rows, *by_columns, BLOCK_SIZE=size, mask_mod=mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        """(*batch, Q, K)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many places the matrices have."""
        return prod(self.shape)

    def sparsity(self) -> float:
        """Percentage of places in blocks that are left out."""
        used = int(self.kv_num_blocks.sum().item())
        if self.full_kv_num_blocks is not None:
            used += int(self.full_kv_num_blocks.sum().item())
        return 100 * (1 - used * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """Which blocks hold anything: (*batch, rows, columns) of 0 and 1, int32."""
        columns = self.kv_indices.shape[-1]
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return dense
        return dense | _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices, columns)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All attributes in torch's order; `flatten`: the two pairs of numbers as four entries."""
        lengths = tuple(self.seq_lengths) if flatten else (self.seq_lengths,)
        size = tuple(self.BLOCK_SIZE) if flatten else (self.BLOCK_SIZE,)
        tensors = [getattr(self, name) for name in self._TENSOR_ATTRS]
        return (*lengths, *tensors, None, None, None, None, *size, self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """The part at `index` of (batch, head, row of blocks); an int keeps its dimension. Set its mask_mod again."""
        index = index if isinstance(index, tuple) else (index,)
        padded = (*index, slice(None), slice(None), slice(None))[:3]
        sizes = self.kv_num_blocks.shape
        place = tuple(slice(i % n, i % n + 1) if isinstance(i, int) else i for i, n in zip(padded, sizes))
        rows = [None if t is None else t[place] for t in (getattr(self, name) for name in self._TENSOR_ATTRS[:4])]
        kept: dict[str, Any] = {"BLOCK_SIZE": self.BLOCK_SIZE, "seq_lengths": self.seq_lengths}
        by_columns = self.q_indices is not None
        return BlockMask.from_kv_blocks(*rows, **kept, mask_mod=_sliced_mask_mod_error, compute_q_blocks=by_columns)  # type: ignore[arg-type]

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part for shorter sequences."""
        size = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        lists = [*_cropped(self.kv_num_blocks, self.kv_indices, *size), None, None]
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            lists[2:] = _cropped(self.full_kv_num_blocks, self.full_kv_indices, *size)
        kept: dict[str, Any] = {"BLOCK_SIZE": self.BLOCK_SIZE, "mask_mod": self.mask_mod}
        by_columns = self.q_indices is not None
        return BlockMask.from_kv_blocks(
            *lists, **kept, seq_lengths=(new_q_len, new_kv_len), compute_q_blocks=by_columns
        )

    def to(self, device: Any) -> BlockMask:
        """A new mask whose tensors are on `device`."""
        moved = [None if t is None else t.to(device) for t in (getattr(self, name) for name in self._TENSOR_ATTRS)]
        return BlockMask(self.seq_lengths, *moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)  # type: ignore[arg-type]

    # ---------------------------------------------------------------------------------------- printing

    def __repr__(self) -> str:
        shapes = [
            f"    {name}={None if getattr(self, name) is None else getattr(self, name).shape},\n"
            for name in self._TENSOR_ATTRS
        ]
        return (
            f"BlockMask(\n{''.join(shapes)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)"
        )

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of each matrix in at most `grid_size` characters: full, partly used and empty places."""
        dense = self.to_dense().float()
        grid = _pair(grid_size)
        pictures = (
            f"{place}\n{_picture(dense[place], grid)}" for place in product(*[range(n) for n in dense.shape[:-2]])
        )
        shown = list(islice(pictures, limit))
        if prod(dense.shape[:-2]) > limit:
            shown += [
                "...",
                "To print out more, set BlockMask.to_string(limit=N)",
                "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
            ]
        return "\n".join(shown)


def _picture(dense: Tensor, grid: tuple[int, int]) -> str:
    rows, columns = dense.shape
    step = max(1, -(-rows // grid[0])), max(1, -(-columns // grid[1]))
    lines = [
        "".join(2 * _shade(dense[r : r + step[0], c : c + step[1]].mean().item()) for c in range(0, columns, step[1]))
        for r in range(0, rows, step[0])
    ]
    return "".join(line + "\n" for line in lines)


def _shade(share: float) -> str:
    return "█" if share == 1 else " " if share == 0 else "░"
