"""Sums among processes of several hosts of which some have more than one: each array travels between hosts once.

The processes of a host first add their arrays among themselves, through memory that they share. The first one of each host then
carries that sum around the ring of hosts, and passes the total on to the others of its host. A ring of all processes would send
2 (n-1)/n of the array over each link for n processes, and more where neighbours in the ring are on different hosts; this
sends 2 (h-1)/h for h hosts.

The order of additions follows from the ranks alone: all processes have the same bits, in each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..reduce_op import RedOpType, scaled

if TYPE_CHECKING:
    from .wire import Call, Wire

__all__ = ["HostSums", "by_host"]


def by_host(members: Sequence[int], hosts: Sequence[str]) -> list[list[int]]:
    """The members of each host, in their order. hosts: that of each process of the mesh."""
    found: dict[str, list[int]] = {}
    for member in members:
        found.setdefault(hosts[member], []).append(member)
    return list(found.values())


class HostSums:
    """The sums of a wire whose processes share hosts.

    within: the wire of this host's processes, None where it has one only. between: that of each host's first process, None in the
    others. hosts: how many there are.
    """

    def __init__(self, within: Wire | None, between: Wire | None, hosts: int):
        self.within, self.between, self.hosts = within, between, hosts

    @classmethod
    def make(cls, wire: Wire, groups: list[list[int]], wire_of: Callable[[list[int], str], Wire]) -> HostSums | None:
        """The sums for the members of each host; None where one of the ways to add them is not needed.

        wire_of: makes the wire of some members, which all of them have to ask for; its second argument tells them from others.
        """
        if len(groups) < 2 or len(groups) == wire.size:
            return None
        own = next(group for group in groups if wire.mesh.rank in group)
        within = wire_of(own, "host") if len(own) > 1 else None
        between = wire_of([group[0] for group in groups], "hosts") if wire.mesh.rank == own[0] else None
        return cls(within, between, len(groups))

    def sum(self, call: Call, array: np.ndarray, factor: float) -> None:
        """The sum over the processes of their arrays times `factor`, in the memory of the array, which is contiguous.

        Raises DistBackendError where another process has died, makes another call, or does not come in time.
        """
        if self.within is None:
            scaled(array, factor)
        else:
            self.within.all_reduce(call, array, RedOpType.SUM, factor)
        if self.between is not None:
            self.between.all_reduce(call, array, RedOpType.SUM)
        if self.within is not None:
            self.within.broadcast(call, array, 0)
