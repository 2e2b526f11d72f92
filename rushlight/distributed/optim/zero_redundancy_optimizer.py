"""An optimizer whose state is spread over processes (Rajbhandari et al., ZeRO, 2020, stage 1).

Each parameter belongs to one process, which keeps its state and steps it; then all take the new values.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor
from ...nn.parallel.join import Join, Joinable, JoinHook
from ...nn.utils.convert_parameters import vector_to_parameters
from ...ops import cat
from ...optim import Optimizer
from ...utils._pytree import tree_map
from ..collectives import broadcast
from ..objects import gather_object
from ..world import get_global_rank, group_of

__all__ = ["ZeroRedundancyOptimizer"]

_ALONE_BYTES = 1 << 19  # a parameter of this size travels in its own memory
_TOGETHER_BYTES = 1 << 22  # smaller ones in messages of about this size
_UNDER_WAY = 4  # messages, whose memory is there at once


class _Hook(JoinHook):
    """The collectives of a step, for a process that has no more batches."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer):
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Step this process's parameters, whose gradients are the others' averages."""
        self.optimizer.step()


class _Group(dict):
    """A group whose options are the inner optimizer's as well, as soon as they are set: a compiled step reads them there."""

    def __init__(self, group: dict[str, Any], inner: dict[str, Any] | None = None):
        super().__init__(group)
        self.inner = inner

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        if self.inner is not None and name != "params":
            self.inner[name] = value

    def update(self, *others: Any, **options: Any) -> None:
        """Set several options."""
        for name, value in dict(*others, **options).items():
            self[name] = value

    def __ior__(self, other: Any) -> _Group:  # type: ignore[override, misc]
        self.update(other)
        return self

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """`optimizer_class(params, **defaults)`, of which each process keeps the state of its own share of the parameters.

    The shares follow from the parameters' sizes alone: of each group the largest first, to the process that has least.
    parameters_as_bucket_view: parameters become parts of one flat tensor for each process, which travels as it is.

    Raises TypeError or ValueError for parameters of different types, NotImplementedError for overlap_with_ddp=True.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ):
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer(overlap_with_ddp=True) is not implemented")
        groups = _checked(params)
        self.initialized = self._overlap_with_ddp = False
        Optimizer.__init__(self, groups, defaults)
        self.process_group = group_of(process_group)
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.global_rank = get_global_rank(self.process_group, self.rank)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._class, self._sizes = optimizer_class, [0] * self.world_size
        self._owners: dict[int, int] = {}  # parameter's identity: rank
        self._shares: list[list[dict[str, Any]]] = [[] for _ in range(self.world_size)]
        for group in self.param_groups:
            self._share_out(group)
        self.optim = optimizer_class(self._shares[self.rank], **defaults)
        self._take_options()
        self._buckets: list[tuple[int, list[Tensor], Tensor | None]] = []
        self._make_buckets()
        self._all_state_dicts: list[dict[str, Any]] = []
        self.initialized = True

    # ------------------------------------------------------------------------------------------ who owns what

    def _share_out(self, group: dict[str, Any]) -> None:
        own: list[list[Tensor]] = [[] for _ in range(self.world_size)]
        for p in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
            rank = self._sizes.index(min(self._sizes))
            own[rank].append(p)
            self._sizes[rank] += p.numel()
            self._owners[id(p)] = rank
        for share, members in zip(self._shares, own, strict=True):
            share.append({**group, "params": members})

    def _make_buckets(self) -> None:
        """What travels after a step: the parameters of a process, by type, in one flat tensor or in several messages."""
        self._buckets = []
        for rank, groups in enumerate(self._shares):
            by_type: dict[Any, list[Tensor]] = {}
            for p in (p for group in groups for p in group["params"] if p.requires_grad):
                by_type.setdefault(p.dtype, []).append(p)
            for members in by_type.values():
                if self.parameters_as_bucket_view:
                    self._buckets.append((rank, members, _flattened(members)))
                else:
                    self._buckets += [(rank, message, None) for message in _messages(members)]
        self._trainable = self._which_are_trainable()

    def _which_are_trainable(self) -> list[bool]:
        return [p.requires_grad for group in self.param_groups for p in group["params"]]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Step further parameters. Every process has to call this."""
        super().add_param_group(param_group)
        if self.initialized:
            self._share_out(self.param_groups[-1])
            self.optim.add_param_group(self._shares[self.rank][-1])
            self._take_options()
            self._make_buckets()

    def _give_options(self) -> None:
        """Let the inner optimizer have the groups' options, also where the groups are other objects than they were."""
        for i, (inner, group) in enumerate(zip(self.optim.param_groups, self.param_groups, strict=True)):
            inner.update({name: value for name, value in group.items() if name != "params"})
            if getattr(group, "inner", None) is not inner:
                self.param_groups[i] = _Group(group, inner)

    def _take_options(self) -> None:
        """Take the inner optimizer's options."""
        for inner, group in zip(self.optim.param_groups, self.param_groups, strict=True):
            group.update({name: value for name, value in inner.items() if name != "params"})
        self._give_options()

    # ------------------------------------------------------------------------------------------ a step

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Step this process's parameters, and take the others' from their owners. Every process has to call this."""
        Join.notify_join_context(self)
        if self._trainable != self._which_are_trainable():
            self._make_buckets()
        self._give_options()
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._take_options()
        with no_grad():
            self._exchange()
        return loss

    def _exchange(self) -> None:
        under_way: deque[Callable[[], None]] = deque()
        for owner, members, flat in self._buckets:
            if len(under_way) == _UNDER_WAY:
                under_way.popleft()()
            under_way.append(self._begin(owner, members, flat))
        for finish in under_way:
            finish()

    def _begin(self, owner: int, members: list[Tensor], flat: Tensor | None) -> Callable[[], None]:
        """Start to send, or to receive, parameters of a process; what puts them where they belong."""
        is_copy = flat is None and len(members) > 1
        part = (
            cat([p.detach().reshape(-1) for p in members]) if is_copy else members[0].detach() if flat is None else flat
        )
        root = get_global_rank(self.process_group, owner)
        work = broadcast(part, root, self.process_group, async_op=True)

        def finish() -> None:
            work.wait()  # type: ignore[union-attr]
            at = 0
            for p in members if is_copy and owner != self.rank else ():
                p.copy_(part[at : at + p.numel()].view(p.shape))
                at += p.numel()

        return finish

    # ------------------------------------------------------------------------------------------ unequal numbers of batches

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process does that has no more batches."""
        return _Hook(self)

    @property
    def join_device(self) -> Any:
        """The parameters' device."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The optimizer's group."""
        return self.process_group

    # ------------------------------------------------------------------------------------------ checkpoints

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all processes to process `to`, whose `state_dict` has them then. All have to call this."""
        self._give_options()
        parts: list[Any] | None = [None] * self.world_size if self.rank == to else None
        gather_object(self.optim.state_dict(), parts, get_global_rank(self.process_group, to), self.process_group)
        self._all_state_dicts = parts or []

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as the plain optimizer's, as it was when `consolidate_state_dict` was called last.

        Raises RuntimeError where that has not brought it here.
        """
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        return self._assembled(zip(self._all_state_dicts, self._shares, strict=True))

    def own_state_dict(self) -> dict[str, Any]:
        """As `state_dict`, with the state of this process's parameters alone. (An addition to torch's methods.)"""
        self._give_options()
        return self._assembled([(self.optim.state_dict(), self._shares[self.rank])])

    def _assembled(self, parts: Iterable[tuple[dict[str, Any], list[dict[str, Any]]]]) -> dict[str, Any]:
        whole, numbers = super().state_dict(), self._numbers()
        for part, groups in parts:
            for local, group in zip(part["param_groups"], groups, strict=True):
                for index, p in zip(local["params"], group["params"], strict=True):
                    if index in part["state"]:
                        whole["state"][numbers[id(p)]] = part["state"][index]
        whole["state"] = dict(sorted(whole["state"].items()))
        return whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process's share of a whole state, of this class or of the plain optimizer."""
        numbers = self._numbers()
        own = [p for group in self._shares[self.rank] for p in group["params"]]
        states = {
            i: state_dict["state"][numbers[id(p)]] for i, p in enumerate(own) if numbers[id(p)] in state_dict["state"]
        }
        given = [len(group["params"]) for group in state_dict["param_groups"]]
        if given != [len(group["params"]) for group in self.param_groups]:
            raise ValueError("loaded state dict has a different number of parameter groups, or of parameters in them")
        first, groups = 0, []
        for options, share in zip(state_dict["param_groups"], self._shares[self.rank], strict=True):
            n = len(share["params"])
            groups.append({**options, "params": list(range(first, first + n))})
            groups[-1].pop("param_names", None)
            first += n
        self.optim.load_state_dict({"state": tree_map(copy.deepcopy, states), "param_groups": groups})
        self._take_options()

    def _numbers(self) -> dict[int, int]:
        """The parameters' numbers in a state, by identity."""
        everyone = [p for group in self.param_groups for p in group["params"]]
        return {id(p): i for i, p in enumerate(everyone)}


def _checked(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts, but got a Tensor")
    groups = list(params)
    if not groups:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    members = [p for each in groups for p in (each["params"] if isinstance(each, dict) else [each])]
    for p in members:
        if not isinstance(p, Tensor):
            raise TypeError(f"params should be an iterable of Tensors or dicts, but got one containing {type(p)}")
        if p.is_sparse:
            raise ValueError(
                f"ZeroRedundancyOptimizer only supports using the same dense type for all parameters: {p.type()}"
            )
        if p.type() != members[0].type():
            raise ValueError(
                "ZeroRedundancyOptimizer only supports using the same dense type for all parameters but got both "
                f"{members[0].type()} and {p.type()}"
            )
    return groups


def _messages(members: list[Tensor]) -> list[list[Tensor]]:
    """Large parameters alone, the others together."""
    alone, together, size = [], [], _TOGETHER_BYTES
    for p in members:
        if p.nbytes >= _ALONE_BYTES:
            alone.append([p])
            continue
        if size >= _TOGETHER_BYTES:
            together.append([])
            size = 0
        together[-1].append(p)
        size += p.nbytes
    return alone + together


def _flattened(members: list[Tensor]) -> Tensor:
    """One tensor, of which the parameters become parts."""
    with no_grad():
        flat = cat([p.reshape(-1) for p in members])
        vector_to_parameters(flat, members)
    return flat
