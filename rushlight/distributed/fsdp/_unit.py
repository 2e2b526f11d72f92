"""Parameters that are gathered, given back and reduced together: those of a module, without those of modules in it that
have a unit of their own.

Each process keeps a part, which the optimizer updates. Before they are used the processes gather the whole, after that it
is given back. The gradients of the whole are averaged such that each process gets those of its part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...compile.runtime import heap
from ...core.dispatch.mode import no_grad
from ...core.tensor.dtype import dtype as DType
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor, wrap
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ..device_mesh import DeviceMesh
from ..tensor._dtensor import DTensor, rows_of
from ..tensor.placement_types import Replicate, Shard
from ._averages import Averages
from ._pages import Pages

__all__ = ["MANAGED", "Member", "RowUnit", "Unit", "members_of", "own_modules"]

MANAGED = "_fsdp_managed"  # the mark of parameters that a unit has
_ALIGNED = 64  # bytes
_LARGE = 1 << 20  # bytes: of a unit whose gradients leave gaps that count, of a gradient that would
_ALONE = 1 << 16  # bytes of a part from which on it is gathered by itself, straight into its place


class Member:
    """A parameter of a unit: where modules have it, and its whole."""

    def __init__(self, name: str, places: list[tuple[Module, str]], given: Parameter, dtype: DType):
        self.name, self.places, self.shape = name, places, tuple(given.shape)
        self.dtype, self.whole_dtype = given.dtype, dtype
        self.numel = given.numel()
        self.size_bytes = self.numel * dtype.itemsize
        self.whole: Any = None
        self.shard: Any = None

    def make_whole(self, memory: np.ndarray, requires_grad: bool) -> None:
        """The whole, in `memory`."""
        array = memory[: self.size_bytes].view(self.whole_dtype.numpy).reshape(self.shape)
        self.whole = Parameter(wrap(array), requires_grad)
        storage_of(self.whole).resizable = False

    def show(self, parameter: Any) -> None:
        """Let the modules have a parameter."""
        for module, name in self.places:
            if getattr(type(module), "__setattr__", None) is Module.__setattr__:
                module._parameters[name] = parameter
            else:
                setattr(module, name, parameter)


def own_modules(
    module: Module, is_left_out: Callable[[Module], bool], seen: set[Module], prefix: str = ""
) -> Iterator[tuple[str, Module]]:
    """A module and those in it, each once, with the prefixes of their names; without those that have a unit of their own, or are ignored."""
    if module in seen or is_left_out(module):
        return
    seen.add(module)
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from own_modules(child, is_left_out, seen, f"{prefix}{name}.")


def members_of(
    modules: Iterable[tuple[str, Module]],
    left_alone: Callable[[Parameter], bool],
    check: Callable[[str, Parameter], None],
    dtype: DType | None,
) -> list[Member]:
    """The parameters that modules have themselves, which are marked from then on.

    check: raises for one that cannot be spread, by its name. dtype: that of the whole floating-point ones, if it is another one.
    """
    found: dict[int, Member] = {}
    for prefix, owner in modules:
        for name, p in owner._parameters.items():
            if p is None or left_alone(p):
                continue
            if id(p) in found:
                found[id(p)].places.append((owner, name))
                continue
            check(prefix + name, p)
            kind = dtype if dtype is not None and p.is_floating_point() else p.dtype
            found[id(p)] = Member(prefix + name, [(owner, name)], p, kind)
            setattr(p, MANAGED, True)
    return list(found.values())


class Unit:
    """What parameters by rows and flat ones have in common. Subclasses say what travels.

    has_rows: whether each process has a part of each parameter. replicas: the group of the processes that have the same parts,
    None where each has its own; everyone: then the ranks, in the world, of all processes that share the parameters.
    """

    has_rows = True

    def __init__(
        self,
        members: list[Member],
        group: Any,
        reduce_dtype: DType | None,
        replicas: Any = None,
        everyone: Collection[int] = (),
    ):
        self.members, self.group, self.reduce_dtype = members, group, reduce_dtype
        self.replicas, self._everyone = replicas, everyone
        self.share = 1.0 / (group.size() * (1 if replicas is None else replicas.size()))
        self.pieces, self.rank = group.size(), group.rank()
        self.is_whole = self.is_shown = False
        self._gathering: list[Callable[[], None]] | None = None
        self._seen: Any = None  # when the parts were written that the whole was gathered from
        self._averages: Averages | None = None  # of the backward pass that is in the module
        self._reducing: Callable[[], None] | None = None

    def is_local(self) -> bool:
        """Whether all processes that share the parameters are on this host: all of them find the same."""
        mesh = self.group.mesh
        return self.group.is_local() and all(rank == mesh.rank or mesh.is_beside(rank) for rank in self._everyone)

    # ------------------------------------------------------------------------------------------ gathering

    def gather(self, ahead: bool = False) -> None:
        """Bring the whole into memory. ahead: begin to, in the group's thread; a later call waits for the end."""
        if self.is_whole or (ahead and self._gathering is not None):
            return
        with no_grad():
            if self._gathering is None:
                self._gathering = [self._begin(message, ahead) for message in self._messages()]
            if ahead:
                return
            for finish in self._gathering:
                finish()
        self._gathering, self.is_whole = None, True
        written = self._written()
        if written != self._seen:  # what has saved the earlier values may not go on with these
            self._seen = written
            for member in self.members:
                storage_of(member.whole).wrote("an optimizer's step between the forward and the backward pass")

    def _begin(self, message: Message, ahead: bool) -> Callable[[], None]:
        key, received = self.group.key(), []

        def task() -> None:
            received.append(self.group.all_gather(key, message.sent, message.into))

        if ahead:
            work = self.group.start(task)
        else:
            self.group.run(task)

        def finish() -> None:
            if ahead:
                work.wait()
            if message.put is not None:
                message.put(received.pop())

        return finish

    def _messages(self) -> list[Message]:
        """What is gathered."""
        raise NotImplementedError

    def _written(self) -> Any:
        return [_stamp(part) for part in self.parts()]

    def parts(self) -> list[Tensor]:
        """This process's parts."""
        raise NotImplementedError

    def show_whole(self) -> None:
        """Let the modules compute with the whole."""
        if not self.is_shown:
            self._follow_flags()
            for member in self.members:
                member.show(member.whole)
            self.is_shown = True

    def _follow_flags(self) -> None:
        for member in self.members:
            if member.whole.requires_grad != member.shard.requires_grad:
                member.whole.requires_grad_(member.shard.requires_grad)

    def show_shards(self) -> None:
        """Let the modules have the parts."""
        for member in self.members if self.is_shown else ():
            member.show(member.shard)
        self.is_shown = False

    def give_back(self) -> None:
        """Let the modules have the parts, and free the whole."""
        if self._gathering is not None:
            self.gather()
        self.show_shards()
        if self.is_whole:
            self.is_whole = False
            self._free()

    def drop(self) -> None:
        """After an error: give the whole back without a word with the others."""
        self._gathering = self._reducing = None
        self.expect_no_more()
        for member in self.members:
            member.whole.grad = None
        self.give_back()

    def _free(self) -> None:
        raise NotImplementedError

    def shares_memory(self, array: Any) -> bool:
        """Whether an array is part of the whole."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ gradients

    def has_gradients(self) -> bool:
        """Whether there are gradients of the whole, or some have been averaged already."""
        if self._averages is not None and self._averages.have_begun():
            return True
        return any(member.whole is not None and member.whole._grad is not None for member in self.members)

    def expect_gradients(self) -> None:
        """Backward enters the module: let large gradients be averaged as soon as they are there."""
        if self._averages is None and self.group.size() > 1 and self.is_local():
            self._averages = Averages(self)
            self._averages.expect()

    def expect_no_more(self) -> None:
        """The pass is over, or has failed."""
        if self._averages is not None:
            self._averages.close()
            self._averages = None

    def reduce(self) -> None:
        """Begin to average the gradients of the whole, which are gone then; `finish_reduce` waits for them."""
        averages, self._averages = self._averages or Averages(self), None
        self.finish_reduce()
        if averages.begin():
            self._reducing = averages.finish
            if self.is_local():
                self.finish_reduce()

    def reduced_as(self, trained: list[Member]) -> DType:
        """The type in which gradients travel. Raises AssertionError for parameters of several, without `reduce_dtype`."""
        if self.reduce_dtype is not None:
            return self.reduce_dtype
        kinds = {member.whole.dtype for member in trained}
        if len(kinds) > 1:
            raise AssertionError(
                f"FSDP reduce-scatter expects uniform gradient dtype but got {kinds}: give reduce_dtype, or parameters of "
                "other types a module of their own"
            )
        return kinds.pop()

    def finish_reduce(self) -> None:
        """Wait for the averages, and put them where optimizers find them."""
        if self._reducing is not None:
            finish, self._reducing = self._reducing, None
            finish()
            if sum(member.size_bytes for member in self.members) >= _LARGE:
                heap.give_back()  # the next unit's gradients do not fit into the gaps of this one's: 57 of 628 MB in decision 48's case

    def cut(self, member: Member, rank: int) -> tuple[int, int]:
        """A process's part of a parameter: the first element, and how many."""
        raise NotImplementedError

    def place(self, member: Member, dtype: DType) -> np.ndarray | None:
        """Where this process's part of a large parameter's average goes; None: anywhere."""
        raise NotImplementedError

    def put(self, trained: list[Member], used: set[Member], parts: dict[Member, np.ndarray]) -> None:
        """Give the parts their gradients. used: the members of which a process had one."""
        raise NotImplementedError


class Message(NamedTuple):
    """What is gathered together: this process's bytes, and where those of all go, or what puts them there."""

    sent: np.ndarray
    into: np.ndarray | None
    put: Callable[[list[np.ndarray]], None] | None


def _stamp(t: Tensor) -> tuple[int, int]:
    s = storage_of(t)
    return id(s), s.stamp if s.content is None else s.content.stamp


def pages_of(n: int, dtype: np.dtype) -> np.ndarray:
    """Zeros outside of the heap: what stays would leave holes where whole parameters have been."""
    return Pages(n * dtype.itemsize).array.view(dtype)


def own_memory(t: Tensor) -> Tensor:
    """A contiguous copy outside of the heap."""
    array = pages_of(t.numel(), t._array.dtype).reshape(t._array.shape)
    np.copyto(array, t._array)
    return wrap(array)


def bytes_of(t: Tensor) -> np.ndarray:
    """The elements as bytes, in order."""
    return np.ascontiguousarray(t._array).reshape(-1).view(np.uint8)


class RowUnit(Unit):
    """Parameters that are cut along dimension 0, each for itself, as `DTensor`s.

    mesh: of one dimension, along which they are cut, or of two: along the first one processes have the same.
    """

    def __init__(self, members: list[Member], mesh: DeviceMesh, reduce_dtype: DType | None):
        replicas = mesh.get_group(0) if mesh.ndim > 1 else None
        super().__init__(members, mesh.get_group(mesh.ndim - 1), reduce_dtype, replicas, mesh.mesh.flatten().tolist())
        self.mesh, self._placements = mesh, (Shard(0),) if replicas is None else (Replicate(), Shard(0))
        size, rank = self.group.size(), self.group.rank()
        for member in members:
            given = member.places[0][0]._parameters[member.places[0][1]]
            first, n = rows_of(member.shape[0], size, rank)
            with no_grad():
                local = own_memory(given.detach()[first : first + n])  # type: ignore[union-attr]
            member.shard = self._sharded(local, member, given.requires_grad)  # type: ignore[union-attr]
            member.show(member.shard)
        self._make_wholes()

    def _sharded(self, local: Tensor, member: Member, requires_grad: bool) -> Any:
        return Parameter(DTensor._make(local, self.mesh, self._placements, member.shape), requires_grad)

    def _make_wholes(self) -> None:
        at = [0]
        for member in self.members:
            at.append(at[-1] + -(-member.size_bytes // _ALIGNED) * _ALIGNED)
        self.pages = Pages(at[-1])
        for member, start in zip(self.members, at, strict=False):
            member.make_whole(self.pages.array[start:], member.shard.requires_grad)

    def take_shards(self) -> None:
        """Take the parameters that the modules have now, after `to()` and its relatives have changed them."""
        for member in self.members:
            module, name = member.places[0]
            shard = module._parameters[name]
            member.show(shard)
            if member.whole_dtype is member.dtype:
                member.whole_dtype = shard.dtype  # type: ignore[union-attr]
            member.dtype, member.shard = shard.dtype, shard  # type: ignore[union-attr]
            member.size_bytes = member.numel * member.whole_dtype.itemsize  # type: ignore[union-attr]
        self._make_wholes()

    def parts(self) -> list[Tensor]:
        return [member.shard._local_tensor for member in self.members]

    def _rows(self, member: Member) -> int:
        """The rows of each process's part, of which the last ones may be missing."""
        return rows_of(member.shape[0], self.group.size(), 0)[1]

    def _part_bytes(self, member: Member) -> int:
        return self._rows(member) * (member.size_bytes // max(member.shape[0], 1))

    def _is_alone(self, member: Member) -> bool:
        """Whether a parameter travels by itself, from and to its place: copies of many small ones cost less."""
        return self._part_bytes(member) >= _ALONE and member.shape[0] % self.group.size() == 0

    def _messages(self) -> list[Message]:
        alone = [member for member in self.members if self._is_alone(member)]
        others = [member for member in self.members if not self._is_alone(member)]
        size, messages = self.group.size(), []
        for member in alone:
            sent = bytes_of(member.shard._local_tensor.to(member.whole_dtype))
            messages.append(Message(sent, bytes_of(member.whole).reshape(size, -1), None))
        return messages + ([self._packed(others)] if others else [])

    def _packed(self, members: list[Member]) -> Message:
        sizes = [self._part_bytes(member) for member in members]
        sent = np.zeros(sum(sizes), np.uint8)
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        for member, start in zip(members, starts, strict=True):
            data = bytes_of(member.shard._local_tensor.to(member.whole_dtype))
            sent[start : start + data.size] = data

        def put(received: list[np.ndarray]) -> None:
            for rank, data in enumerate(received):
                for member, start, each in zip(members, starts, sizes, strict=True):
                    whole = bytes_of(member.whole)[rank * each : (rank + 1) * each]
                    whole[:] = data[start : start + whole.size]

        return Message(sent, None, put)

    def _free(self) -> None:
        self.pages.give_back()

    def shares_memory(self, array: Any) -> bool:
        return isinstance(array, np.ndarray) and np.may_share_memory(array, self.pages.array)

    def cut(self, member: Member, rank: int) -> tuple[int, int]:
        first, n = rows_of(member.shape[0], self.group.size(), rank)
        width = prod(member.shape[1:])
        return first * width, n * width

    def place(self, member: Member, dtype: DType) -> np.ndarray | None:
        n = self.cut(member, self.rank)[1]
        return pages_of(n, dtype.numpy) if n * dtype.itemsize >= _LARGE else None  # zero_grad() gives it to the system

    def put(self, trained: list[Member], used: set[Member], parts: dict[Member, np.ndarray]) -> None:
        for member in self.members:
            if member in used:
                put_gradient(member, wrap(parts.pop(member)).view(member.shard._local_tensor.shape))


def put_gradient(member: Member, g: Tensor) -> None:
    """Add to the gradient of a part, or let it have this one; then call the part's post-accumulate hooks."""
    g = g.to(member.dtype)
    if member.shard.grad is None:
        member.shard.grad = member.shard._like(g)
    else:
        member.shard.grad._local_tensor.add_(g)
    call_hooks(member.shard)


def call_hooks(p: Any) -> None:
    """Call the post-accumulate hooks of a part, which the backward pass, of the whole, does not know."""
    hooks = p._edge.hooks if p.requires_grad else None
    for hook in list((hooks.accumulated or {}).values()) if hooks is not None else ():
        hook(p)
