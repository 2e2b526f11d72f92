"""Processes in a grid: a group for each line of processes along each of the grid's dimensions.

>>> import os
>>> from rushlight.distributed import destroy_process_group, init_process_group
>>> os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
>>> init_process_group("gloo")
>>> mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("replicas", "shards"))
>>> mesh, mesh["shards"].get_group().size(), mesh.get_coordinate()
(DeviceMesh((replicas=1, shards=1), 'cpu', stride=(1, 1)), 1, (0, 0))
>>> destroy_process_group()
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.tensor.tensor import Tensor, wrap
from . import world
from .process_group import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The processes `mesh`, an array of ranks, with names for its dimensions. Every process of the job has to make it.

    device_type: 'cpu'. backend_override: as in `init_device_mesh`.

    Raises RuntimeError for more processes than there are, or for a device with an index.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _rank: int | None = None,
        _layout: Any = None,
        _rank_map: Any = None,
    ) -> None:
        for name, value in (("_rank", _rank), ("_layout", _layout), ("_rank_map", _rank_map)):
            if value is not None:
                raise NotImplementedError(f"DeviceMesh({name}=...) is not implemented")
        if mesh is None:
            raise TypeError("Must provide either `mesh` or `_layout` and `_rank_map`")
        ranks = np.asarray(mesh._array if isinstance(mesh, Tensor) else mesh, np.int32)
        names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        _check(device_type, ranks.shape, names)
        default = world.default_group()
        if ranks.size > default.size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {default.size()}, but found {ranks.size} ranks!"
            )
        groups = None
        if _init_backend:
            backends = _backends(backend_override, names, ranks.ndim)
            groups = [_groups_along(ranks, dim, names, backends.get(dim)) for dim in range(ranks.ndim)]
        self._set(device_type, ranks, names, groups)

    def _set(self, device_type: str, ranks: np.ndarray, names: Any, groups: list[Any] | None, root: Any = None) -> None:
        self.device_type, self._ranks, self.mesh_dim_names, self._groups = device_type, ranks, names, groups
        self._root: DeviceMesh = root or self
        self._flat: dict[str, DeviceMesh] = {}
        self._strides = tuple(math.prod(self.shape[dim + 1 :]) for dim in range(self.ndim))
        found = np.argwhere(ranks == world.get_rank())
        self._coordinate = tuple(int(i) for i in found[0]) if len(found) else None

    def _part(self, ranks: np.ndarray, names: tuple[str, ...], groups: list[Any] | None) -> DeviceMesh:
        part = object.__new__(DeviceMesh)
        part._set(self.device_type, ranks, names, groups, self._root)
        return part

    # ------------------------------------------------------------------------------------------ shape

    @property
    def mesh(self) -> Tensor:
        """The ranks, as int32."""
        return wrap(self._ranks.copy())

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of processes along each dimension."""
        return self._ranks.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes, of all or along a dimension."""
        return self._ranks.size if mesh_dim is None else self.shape[mesh_dim]

    # ------------------------------------------------------------------------------------------ this process

    def get_rank(self) -> int:
        """This process's rank in the world."""
        return world.get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's place in the grid; None outside."""
        return self._coordinate

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's rank in its group along a dimension, which may be left out where there is one only."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            )
        return self.get_group(mesh_dim).rank()

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """This process's group along a dimension, which may be left out where there is one only.

        Raises RuntimeError where it may not, KeyError for an unknown name, IndexError outside the grid.
        """
        if self._groups is None:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                "please use `get_all_groups()` instead.",
            )
        if self._coordinate is None:
            raise IndexError(f"process {self.get_rank()} does not belong to {self}")
        return self._groups[self._dimension(mesh_dim or 0)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """This process's groups, by dimension."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def _dimension(self, dim: int | str) -> int:
        if isinstance(dim, int):
            return dim
        if self.mesh_dim_names is None or dim not in self.mesh_dim_names:
            raise KeyError(
                f"Mesh dimension '{dim}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self.mesh_dim_names}",
            )
        return self.mesh_dim_names.index(dim)

    # ------------------------------------------------------------------------------------------ parts

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the grid, with this process, that has the named dimensions, in their order.

        Raises RuntimeError where the dimensions have no names, KeyError for unknown ones or another order.
        """
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self.mesh_dim_names:
            return self
        if len(names) == 1 and names[0] in self._root._flat:
            return self._root._flat[names[0]]
        if not set(names) <= set(self.mesh_dim_names):
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {list(self.mesh_dim_names)}."
            )
        dims = [self._dimension(name) for name in names]
        if dims != sorted(set(dims)):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        # outside the grid, the part that begins it
        place = self._coordinate or (0,) * self.ndim
        ranks = self._ranks[tuple(slice(None) if dim in dims else at for dim, at in enumerate(place))]
        part = self._part(ranks, names, None if self._groups is None else [self._groups[dim] for dim in dims])
        part._strides = tuple(self._strides[dim] for dim in dims)
        return part

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The same processes in one dimension, which the grid knows by its name from then on."""
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        if backend_override is not None:
            raise NotImplementedError("DeviceMesh._flatten(backend_override=...) is not implemented")
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        known = self._root._flat
        if name not in known:
            rest = [dim for dim in (self._root.mesh_dim_names or ()) if dim not in self.mesh_dim_names]
            lines = self._lines(rest)
            own = next((line for line in lines if (line == self._ranks.reshape(-1)).all()), self._ranks.reshape(-1))
            known[name] = self._part(own, (name,), [_own_group(lines, f"mesh_{name}", None)])
        return known[name]

    def _lines(self, rest: list[str]) -> list[np.ndarray]:
        """The ranks of all parts of the whole grid that are like this one, for each place along the other dimensions."""
        root = self._root
        last = [dim for dim, name in enumerate(root.mesh_dim_names or ()) if name not in rest]
        first = [dim for dim in range(root.ndim) if dim not in last]
        return list(root._ranks.transpose(*first, *last).reshape(-1, self._ranks.size))

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> DeviceMesh:
        """The grid of existing groups: of one, a line of its processes; of several, one for each dimension of `mesh`."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if isinstance(group, ProcessGroup):
            mesh = group.ranks if mesh is None else mesh
        elif mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        made = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _init_backend=False)
        if made.ndim != len(groups):
            raise ValueError(
                f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {made._ranks.tolist()} and "
                f"{len(groups)} ProcessGroups"
            )
        made._groups = groups
        return made

    # ------------------------------------------------------------------------------------------ as an object

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(self, *error: object) -> None: ...

    def __repr__(self) -> str:
        sizes = [str(n) for n in self.shape]
        if self.mesh_dim_names is not None:
            sizes = [f"{name}={n}" for name, n in zip(self.mesh_dim_names, sizes, strict=True)]
        shape = f"({', '.join(sizes)}{',' if self.mesh_dim_names is None and len(sizes) == 1 else ''})"
        return f"DeviceMesh({shape}, '{self.device_type}', stride={self._strides})"

    def _values(self) -> tuple[Any, ...]:
        return self.device_type, self.shape, self._ranks.tobytes(), self.mesh_dim_names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: dict[int | str, Any] | None = None,
) -> DeviceMesh:
    """The first processes of the job in a grid of a shape, the last dimension running fastest; every process has to call this.

    backend_override: {dimension: its groups' backend, or (backend, options)}, the dimension by its number or name. Makes the
    default group, at env://, where there is none.

    Raises RuntimeError for names that repeat or are too few, for a device with an index, for a grid larger than the job.
    """
    _check(device_type, tuple(mesh_shape), mesh_dim_names)
    if not world.is_initialized():
        world.init_process_group()
    ranks = np.arange(math.prod(mesh_shape), dtype=np.int32).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backend_override)


def _check(device_type: str, shape: tuple[int, ...], names: tuple[str, ...] | None) -> None:
    if names is not None:
        if len(set(names)) != len(names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {names}"
            )
        if len(shape) != len(names):
            raise RuntimeError(
                f"mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): {len(names)} and "
                f"len(mesh_shape):{len(shape)}."
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    if device_type != "cpu":
        raise RuntimeError(f"DeviceMesh: processes work together on the CPU only, not on {device_type!r}")


def _backends(given: Any, names: tuple[str, ...] | None, ndim: int) -> dict[int, str]:
    """The backends by dimension."""
    found = {}
    for dim, value in (given or {}).items():
        if isinstance(value, tuple):
            if value[1] is not None:
                raise NotImplementedError("init_device_mesh(backend_override=...) with options is not implemented")
            value = value[0]
        number = names.index(dim) if names is not None and dim in names else dim
        if not isinstance(number, int) or not 0 <= number < ndim:
            raise RuntimeError(
                f"Found invalid keys in backend_override: got {list(given)}, expected integers or one of {names}"
            )
        found[number] = value
    return found


def _groups_along(ranks: np.ndarray, dim: int, names: tuple[str, ...] | None, backend: str | None) -> Any:
    default = world.default_group()
    if ranks.ndim == 1 and ranks.tolist() == default.ranks and backend is None:
        return default
    lines = list(np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]))
    return _own_group(lines, f"mesh_{names[dim] if names is not None else f'dim_{dim}'}", backend)


def _own_group(lines: list[np.ndarray], desc: str, backend: str | None) -> Any:
    """This process's group of those with these ranks, all of which every process makes."""
    made = [world.new_group(line.tolist(), backend=backend, group_desc=desc) for line in lines]
    return next((group for group in made if isinstance(group, ProcessGroup)), None)
