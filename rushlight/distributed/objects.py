"""Collectives on Python objects, by pickle: use them only among processes that trust each other."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..core.device import devices
from .collectives import _is_outside, _rank_in
from .process_group import ProcessGroup
from .world import group_of

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _packed(value: Any) -> np.ndarray:
    return np.frombuffer(pickle.dumps(value, protocol=4), np.uint8)


def _receive(pg: ProcessGroup, rank: int, key: bytes) -> Any:
    members = pg.ranks if b"#" in key else ()
    return pickle.loads(pg.mesh.receive(pg.ranks[rank], key, pg.timeout, members)[2].tobytes())


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the objects of all processes into the list, in the order of ranks."""
    if _is_outside(group, "all_gather_object"):
        return
    pg, own = group_of(group), _packed(obj)
    key = pg.key()
    note = pg.begin(key, "all_gather_object")
    if pg.mesh.is_star:
        _gather_by_first(pg, key, note, object_list, own)
        return
    for rank in pg._others():
        pg.send_array(rank, key, own, note)
    for rank in range(pg.size()):
        object_list[rank] = pickle.loads(own.data) if rank == pg.rank() else _receive(pg, rank, key)


def _gather_by_first(pg: ProcessGroup, key: bytes, note: bytes, objects: list[Any], own: np.ndarray) -> None:
    """As `all_gather_object` among many processes: the first one of the group gathers, and sends all of them to the others."""
    size = pg.size()
    if pg.rank():
        pg.send_array(0, key, own, note)
        objects[:size] = _receive(pg, 0, key)
        return
    objects[:size] = [pickle.loads(own.data), *(_receive(pg, rank, key) for rank in range(1, size))]
    everything = _packed(objects[:size])
    for rank in pg._others():
        pg.send_array(rank, key, everything, note)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the objects of all processes into the list of process `dst` (0 where none is named)."""
    if _is_outside(group, "gather_object"):
        return
    pg = group_of(group)
    root = 0 if dst is None and group_dst is None else _rank_in(pg, dst, group_dst, "dst", "gather")
    if (object_gather_list is None) == (pg.rank() == root):
        raise ValueError("Argument ``gather_list`` must be specified on destination rank, and only there.")
    own = obj if pg.rank() == root else _packed(obj)
    key = pg.key()
    note = pg.begin(key, f"gather_object(dst={pg.ranks[root]})")
    if pg.rank() != root:
        pg.send_array(root, key, own, note)
        pg.tell_later(root, key, note)
        return
    pg.announce_to_others(key, note)
    for rank in range(pg.size()):
        object_gather_list[rank] = own if rank == root else _receive(pg, rank, key)  # type: ignore[index]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the objects in the list of process `src` (0 where none is named) into that of every process."""
    if _is_outside(group, "broadcast_object_list"):
        return
    devices.check(device)
    pg = group_of(group)
    root = 0 if src is None and group_src is None else _rank_in(pg, src, group_src, "src", "broadcast")
    objects = _packed(list(object_list)) if pg.rank() == root else None
    key = pg.key()
    note = pg.begin(key, f"broadcast_object_list(src={pg.ranks[root]})")
    if pg.rank() != root:
        pg.announce_to_root(root, key, note)
        object_list[:] = _receive(pg, root, key)
        return
    for rank in pg._others():
        pg.send_array(rank, key, objects, note)  # type: ignore[arg-type]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the object that process `src` (0 where none is named) has for a process into that one's list, in front."""
    if _is_outside(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    pg = group_of(group)
    root = 0 if src is None and group_src is None else _rank_in(pg, src, group_src, "src", "scatter")
    inputs = scatter_object_input_list
    if pg.rank() == root and (inputs is None or len(inputs) != pg.size()):
        raise ValueError("source rank must provide non-None scatter_object_input_list, an object for each process")
    parts = [_packed(part) for part in inputs] if pg.rank() == root and inputs else []
    key = pg.key()
    note = pg.begin(key, f"scatter_object_list(src={pg.ranks[root]})")
    if pg.rank() != root:
        pg.announce_to_root(root, key, note)
        scatter_object_output_list[0] = _receive(pg, root, key)
        return
    for rank in pg._others():
        pg.send_array(rank, key, parts[rank], note)
    scatter_object_output_list[0] = inputs[root]  # type: ignore[index]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects in the list to process `dst`. use_batch: how NCCL sends; changes nothing here."""
    devices.check(device)
    pg = group_of(group)
    pg.send_array(_rank_in(pg, dst, group_dst, "dst"), f"{pg.group_name}@objects".encode(), _packed(list(object_list)))


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Put the objects that process `src` has sent into the list; returns who sent them. use_batch changes nothing here."""
    devices.check(device)
    pg = group_of(group)
    rank = _rank_in(pg, src, group_src, "src")
    object_list[:] = _receive(pg, rank, f"{pg.group_name}@objects".encode())
    return pg.ranks[rank]
