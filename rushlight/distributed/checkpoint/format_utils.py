"""A checkpoint as one file of `torch.save`, and back."""

from __future__ import annotations

import os
from typing import Any

from ...serialization import load, save
from .default_planner import _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import _load_state_dict
from .state_dict_saver import _save_state_dict

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike, torch_save_path: str | os.PathLike) -> None:
    """Write a checkpoint's content into a file that `torch.load` reads. Raises what `load` raises."""
    state: dict[str, Any] = {}
    reader = FileSystemReader(dcp_checkpoint_dir)
    _load_state_dict(state, reader, planner=_EmptyStateDictLoadPlanner(), no_dist=True)
    save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike, dcp_checkpoint_dir: str | os.PathLike) -> None:
    """Write the dict in a file of `torch.save` as a checkpoint. Only tensors and plain values are unpickled, unlike in torch.

    Raises UnpicklingError for a file with anything else.
    """
    state = load(torch_save_path, weights_only=True)
    _save_state_dict(state, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)
