"""The default group of this process, the other groups, and how they begin and end."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from itertools import count
from multiprocessing.util import Finalize
from typing import Any

from ..core import determinism
from ..core.device import devices
from . import handshake
from .control import process_state
from .control.guard import Guard
from .mesh import Mesh
from .mpi import launched
from .mpi import library as mpi_library
from .mpi.start import World as MpiWorld
from .mpi.start import give_up, has_failed, join
from .process_group import ProcessGroup
from .rendezvous import rendezvous
from .store import FileStore, PrefixStore, Store

__all__ = [
    "Backend",
    "GroupMember",
    "destroy_process_group",
    "get_backend",
    "get_backend_config",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "split_group",
]

default_pg_timeout = timedelta(seconds=1800)
_NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class _World:
    """What this process belongs to."""

    default: ProcessGroup | None = None
    groups: dict[str, ProcessGroup] = {}
    names = count(1)
    local: Counter[tuple[int, ...]] = Counter()  # groups that their members alone have made
    starts: Counter[Any] = Counter()  # default groups for which this process has met others, by where
    store: Store | None = None
    mpi: MpiWorld | None = None
    guard: Guard | None = None
    outside: list[int] = []  # the members of the last group made without this process
    hook = False  # whether the end of the process has been taken care of


class Backend(str):
    """The name of a backend in small letters. Rushlight has 'gloo' and 'mpi', which mean the same: CPU processes."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_capability = {
        GLOO: ["cpu", "cuda"],
        NCCL: ["cuda"],
        XCCL: ["xpu"],
        UCC: ["cpu", "cuda"],
        MPI: ["cpu", "cuda"],
        FAKE: ["cpu", "cuda", "hpu", "xpu"],
    }

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class _WorldName(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The default group, or None."""
        return _World.default


class group(metaclass=_WorldName):
    """`group.WORLD`: the default group, or None before it is made."""


class GroupMember(metaclass=_WorldName):
    """`GroupMember.WORLD`: the default group; NON_GROUP_MEMBER: what `new_group` gives to those outside."""

    NON_GROUP_MEMBER: Any = -100


# ---------------------------------------------------------------------------------------------- questions


def is_available() -> bool:
    """Whether this package works: True."""
    return True


def is_gloo_available() -> bool:
    """Whether CPU processes can work together: True."""
    return True


def is_nccl_available() -> bool:
    """Whether NVIDIA's NCCL is there: False."""
    return False


def is_mpi_available() -> bool:
    """Whether an MPI library is there: the extra `rushlight[mpi]`, or mpi4py with one of the system's."""
    return mpi_library.installed()


is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used: 'gloo' always, 'mpi' where there is an MPI library."""
    return backend.lower() == "gloo" or (backend.lower() == "mpi" and is_mpi_available())


def is_torchelastic_launched() -> bool:
    """Whether `torch.distributed.run` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_initialized() -> bool:
    """Whether there is a default group."""
    return _World.default is not None


def default_group() -> ProcessGroup:
    """The default group. Raises ValueError where there is none."""
    if _World.default is None:
        raise ValueError(_NOT_INITIALIZED)
    return _World.default


def default_store() -> Store:
    """The store through which the processes of the default group have met. Raises ValueError where there is none."""
    if _World.store is None:
        raise ValueError(_NOT_INITIALIZED)
    return _World.store


def group_of(group: ProcessGroup | None) -> ProcessGroup:
    """The group of an argument; None is the default group. Raises ValueError for that of a process outside."""
    if group is GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified: this process does not belong to it")
    if group is None:
        return default_group()
    if not isinstance(group, ProcessGroup):
        raise ValueError(
            f"Process group {group} is not initialized in the world group map. Please initialize the group first."
        )
    return group


def is_there(group: ProcessGroup) -> bool:
    """Whether a group has not been destroyed."""
    return _World.groups.get(group.group_name) is group


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in a group; -1 outside."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return -1
    return _registered_group(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes a group has; -1 outside."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return -1
    return group_of(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The backend's name of a group."""
    return Backend(group_of(group).backend)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backends by device."""
    name = group_of(group).backend
    return f"cpu:{name},cuda:{name}"


def get_default_backend_for_device(device: Any) -> str:
    """'gloo' for the CPU, 'nccl' for CUDA. Raises ValueError for a device without one."""
    kind = str(getattr(device, "type", device)).partition(":")[0]
    names = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    if kind not in names:
        raise ValueError(f"Default backend not registered for device : {device}")
    return names[kind]


def _registered_group(group: Any) -> ProcessGroup:
    """As `group_of`, with the message of torch's questions about ranks."""
    if group is not None and not isinstance(group, ProcessGroup):
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return group_of(group)


def _members_of(group: Any) -> list[int]:
    """The members of a group. All groups that a process is outside of are one object, as in torch: it has those of the last one."""
    if group is GroupMember.NON_GROUP_MEMBER and _World.outside:
        return _World.outside
    return _registered_group(group).ranks


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The members of a group, by their ranks in the world; outside, those of the last group made without this process."""
    return list(_members_of(group))


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a rank in a group; outside, in the last group made without this process."""
    if group is default_group():
        return group_rank
    ranks = _members_of(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a rank in the world; outside, in the last group made without this process."""
    if group is default_group():
        return global_rank
    ranks = _members_of(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's rank on its machine: the environment's LOCAL_RANK."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def get_pg_count() -> int:
    """How many groups this process belongs to."""
    return len(_World.groups)


# ---------------------------------------------------------------------------------------------- beginning and end


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Meet the other processes and make the default group.

    backend: 'gloo', 'mpi' or None, which mean the same: data goes by MPI where an MPI library is installed (the extra
    `rushlight[mpi]`), and else over TCP, for processes of one host. RUSHLIGHT_MPI=0 in the environment lets it go over TCP
    in any case. They meet through `store` (then rank and world_size are needed), or at `init_method`:
    env:// (the default: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, which mpiexec and srun need not set), tcp://host:port or file:///path.

    Raises ValueError for what is missing or when there is a default group already, RuntimeError for a backend that is
    not there, or for processes on several hosts without MPI, AssertionError for an unknown backend.
    """
    if _World.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    name = _checked_backend(backend)
    devices.check(device_id)
    limit = _checked_timeout(timeout, default_pg_timeout)
    if (world_size if world_size > 0 else os.environ.get("WORLD_SIZE", "")) not in (1, "1"):
        process_state.start_helper()
    place = (store or init_method, world_size, *map(os.environ.get, ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")))
    number = _World.starts[place]
    if pg_options is not None:
        raise NotImplementedError("init_process_group(pg_options=...) is not implemented")
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    else:
        if init_method in (None, "env://") and rank < 0:
            launched.enter(limit)
        with handshake.starting(number):
            store, rank, world_size = next(iter(rendezvous(init_method or "env://", rank, world_size, timeout=limit)))
        store.set_timeout(limit)
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not one of {world_size} processes")
    _World.starts[place] += 1
    mesh = Mesh(PrefixStore(f"default_pg/{number}", store), rank, world_size, limit)
    guard = Guard(mesh) if world_size > 1 else None
    try:
        _remove_file(store, world_size)
        _World.mpi = join(mesh, f"world {number}", limit)
        group = ProcessGroup(mesh, list(range(world_size)), "0", name, limit, "default_pg", _World.mpi)
    except BaseException as error:
        if guard is not None:
            guard.close()
        mesh.leave(error)
        mesh.close()
        give_up()
        _World.mpi = None
        raise
    _World.store = store
    _World.default = _registered(group)
    _World.guard = guard
    determinism.mode.shared = world_size > 1
    if not _World.hook:
        _World.hook = True
        # also in processes that multiprocessing starts, which skip atexit; not in a forked copy of this one
        Finalize(None, _leave, exitpriority=10)


def _checked_backend(backend: str | None) -> str:
    if backend is None:
        return "undefined"
    kinds = [part.partition(":")[2] or part for part in backend.lower().split(",")]
    for name in ("gloo", "mpi"):
        if name in kinds:
            return name
    words = {"nccl": "NCCL", "ucc": "UCC", "xccl": "XCCL"}
    if kinds[0] in words:
        raise RuntimeError(
            f"Distributed package doesn't have {words[kinds[0]]} built in: there is no such device or library here. Use "
            "init_process_group('gloo')."
        )
    raise AssertionError(f"Unknown backend type {backend}. Rushlight has 'gloo' and 'mpi'.")


def _checked_timeout(timeout: Any, default: timedelta) -> timedelta:
    if timeout is None:
        return default
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


def _registered(group: ProcessGroup) -> ProcessGroup:
    _World.groups[group.group_name] = group
    return group


def _remove_file(store: Store, world_size: int) -> None:
    """The last process to have met the others removes the file through which they met."""
    if isinstance(store, FileStore) and store.add("met", 1) % world_size == 0:
        os.unlink(store.path)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; None or the default group ends all of them and hangs up."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if _World.default is None:
        raise AssertionError("Process group cannot be None")
    if group is not None and group is not _World.default:
        if _World.groups.pop(group.group_name, None) is None:
            raise ValueError("Invalid process group specified")
        _close([group])
        return
    _leave()
    _close(_World.groups.values())
    _World.default.mesh.close()
    if hasattr(_World.store, "close"):
        _World.store.close()  # type: ignore[union-attr]
    _World.default, _World.store, _World.groups, _World.names = None, None, {}, count(1)
    _World.local, _World.outside = Counter(), []
    determinism.mode.shared = False


def _close(groups: Iterable[ProcessGroup]) -> None:
    """Give MPI's communicators back; where a process has died, MPI might wait for it."""
    if not has_failed():
        for group in groups:
            group.close()


def _leave() -> None:
    """Before this process hangs up, or ends: let the others receive by MPI what it has sent, and say goodbye."""
    world, _World.mpi = _World.mpi, None
    if world is not None:
        world.leave(by_error=getattr(sys, "last_value", None) is not None)
    if _World.guard is not None:
        _World.guard.close()
        _World.guard = None
    if _World.default is not None:
        _World.default.mesh.leave()


# ---------------------------------------------------------------------------------------------- further groups


def new_group(
    ranks: Iterable[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some of the processes (None: of all). Every process has to call this, in the same order, and waits for the others.

    use_local_synchronization: only the members call this.

    Raises DistBackendError, in all processes, where one gives other ranks, or none calls this within the time limit.
    Returns `GroupMember.NON_GROUP_MEMBER` where this process is not among them.
    """
    world = default_group()
    if pg_options is not None:
        raise NotImplementedError("new_group(pg_options=...) is not implemented")
    devices.check(device_id)
    members = list(world.ranks) if ranks is None else list(ranks)
    members = sorted(members) if sort_ranks else members
    if len(members) > world.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for r in members:
        if not 0 <= r < world.size():
            raise ValueError(
                f"Rank {r} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})"
            )
    if len(set(members)) < len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    name = world.backend if backend is None else _checked_backend(backend)
    limit = _checked_timeout(timeout, world.timeout)
    if use_local_synchronization:
        if world.rank() not in members:
            return None  # as in torch
        place = tuple(members)
        _World.local[place] += 1
        number = f"{'-'.join(map(str, place))}:{_World.local[place]}"
    else:
        number = str(next(_World.names))
        world.compare(f"new_group#{number}".encode(), f"new_group({members})", limit)
    if world.rank() not in members:
        _World.outside = members
        return GroupMember.NON_GROUP_MEMBER
    return _registered(ProcessGroup(world.mesh, members, number, name, limit, group_desc or "", _World.mpi))


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """The one of several groups, given by ranks of the parent, to which this process belongs; None where it is in none.

    Every process of the parent has to call this, and no other one.
    """
    parent = group_of(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    if pg_options is not None:
        raise NotImplementedError("split_group(pg_options=...) is not implemented")
    everyone = [rank for ranks in split_ranks for rank in ranks]
    if len(set(everyone)) < len(everyone) or not all(0 <= rank < parent.size() for rank in everyone):
        raise ValueError(f"split_ranks: each rank of the parent, 0 to {parent.size() - 1}, at most once: {split_ranks}")
    if backend is not None and _checked_backend(backend) != parent.backend:
        raise ValueError(f"Backend mismatch: parent has '{parent.backend}', requested '{backend}'.")
    call = next(parent.splits)
    index = next((i for i, ranks in enumerate(split_ranks) if parent.rank() in ranks), None)
    if index is None:
        return None
    members = [parent.ranks[rank] for rank in sorted(split_ranks[index])]
    name, limit = f"{parent.group_name}:{call}.{index}", parent.timeout if timeout is None else timeout
    desc = group_desc or f"{parent.group_desc}:split:{call}"
    return _registered(ProcessGroup(parent.mesh, members, name, parent.backend, limit, desc, _World.mpi))


def existing_group(group: Any, tag: str = "") -> ProcessGroup:
    """A group that is given by itself, by its name, or by its ranks. Raises ValueError where there is none."""
    if isinstance(group, ProcessGroup):
        return group
    if tag:
        raise NotImplementedError(
            "functional collectives with a tag: give a process group, which has messages of its own"
        )
    for known in _World.groups.values():
        if known.group_name == group if isinstance(group, str) else known.ranks == group:
            return known
    raise ValueError(f"there is no process group {group!r}: make it first, by new_group(ranks) in every process")


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` consecutive processes: (the one of this process, all of them)."""
    if group_size is None:
        raise ValueError("new_subgroups: group_size is needed, there are no devices to count")
    members = group_of(group).ranks
    if not 0 < group_size <= len(members) or len(members) % group_size:
        raise ValueError(f"the world size must be divisible by group_size={group_size}, got {len(members)}")
    parts = [members[i : i + group_size] for i in range(0, len(members), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of the listed processes: (the one of this process, all of them)."""
    groups = [new_group(ranks, timeout, backend, pg_options, False, group_desc) for ranks in ranks_per_subgroup_list]
    own = next((g for g in groups if g is not GroupMember.NON_GROUP_MEMBER), None)
    return own, groups
