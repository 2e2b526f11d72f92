"""The kinds of Extern that are served here, and what the layout pass and the executor ask about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...ir.graph import Extern, Node
from ..recurrent import bind as recurrent
from ..winograd import bind as winograd
from . import attention, convolution, few_channels, im2col, kernels, matmul, pooling, running, scatter
from .binder import Binder, Probe, Rooms, second_operands
from .descriptors import channels_last_order
from .packs import Pack, find_packs

__all__ = ["KINDS", "SAME", "Choice", "Needs", "bind", "choose", "serves"]

SAME = "same"
_PLAIN = (0, 1, 2, 3)


class Choice(NamedTuple):
    """The layout an Extern prefers for its operands and results: for each the order of its axes, slowest first.

    None: any order that has an axis of stride 1 among its last two (a matrix product), or any at all (weights).
    SAME: like the operands, whatever that is. Whatever is chosen works; other orders cost a copy each way.
    """

    operands: tuple
    results: tuple


def serves(extern: Extern) -> bool:
    """Whether `bind` would succeed. If not, the operator stays a Call and its reference kernel computes."""
    return kernels.available() and extern.kind in KINDS and KINDS[extern.kind][0](extern, Probe())


def bind(extern: Extern, binder: Binder) -> bool:
    """Make the primitives of an Extern and emit its steps; False, with nothing emitted, where `serves` is False."""
    if not serves(extern):
        return False
    binder.begin(extern.kind)
    if extern.options.get("widened"):
        binder.note(f"{extern.options['widened']} through float32")
    return _bind(extern, binder)


class Needs:
    """What the Externs of a graph need besides their operands and results. packs: see `packs.py`.

    uses: how many matrix products multiply by a ref.
    """

    def __init__(self, nodes: Sequence[Node]):
        self._externs = [(i, n) for i, n in enumerate(nodes) if isinstance(n, Extern) and n.kind in KINDS]
        self.uses = second_operands(nodes)
        self.packs = find_packs(self._externs, self.uses, _bind)

    def rooms(self, packs: Sequence[Pack]) -> Iterator[tuple[Any, int, int, int]]:
        """(key, bytes, first node, last node): a node's number for what it needs while it runs, or one of `packs`."""
        for i, extern in self._externs:
            rooms = Rooms(self.uses, packs)
            _bind(extern, rooms)
            yield i, rooms.size_bytes, i, i
        for pack in packs:
            yield pack, pack.nbytes, pack.first, pack.last


def _bind(extern: Extern, binder: Probe) -> bool:
    return KINDS[extern.kind][0](extern, binder)


def choose(extern: Extern) -> Choice:
    """The layouts that an Extern prefers."""
    return KINDS[extern.kind][1](extern)


def _indifferent(extern: Extern) -> Choice:
    return Choice((None,) * len(extern.operands), (None,) * len(extern.results))


def _alike(extern: Extern) -> Choice:
    return Choice((SAME,) * len(extern.operands), (SAME,) * len(extern.results))


def _channels_last(*operands: bool) -> Callable[[Extern], Choice]:
    """operands: whether each of operands and results, in this order, is an activation."""

    def of(extern: Extern) -> Choice:
        refs = (*extern.operands, *extern.results)
        flags = (*operands, *(False,) * (len(refs) - len(operands)))
        n = len(extern.operands)
        orders = [channels_last_order(r.ndim) if flag and r else None for flag, r in zip(flags, refs, strict=True)]
        return Choice(tuple(orders[:n]), tuple(orders[n:]))

    return of


def _forward(extern: Extern) -> Choice:
    if few_channels.serves(extern, extern.operands[0], extern.operands[1], extern.results[0]):
        return Choice((_PLAIN, *(None,) * (len(extern.operands) - 1)), (_PLAIN,))
    return _channels_last(True, False, *(False,) * (len(extern.operands) - 2), True)(extern)


def _backward_weights(extern: Extern) -> Choice:
    g, x = extern.operands
    if few_channels.serves(extern, x, extern.results[0], g):
        return Choice((_PLAIN, _PLAIN), (None,) * len(extern.results))
    return _channels_last(True, True)(extern)


def _bind_forward(extern: Extern, binder: Probe) -> bool:
    return any(way.bind_forward(extern, binder) for way in (few_channels, winograd, convolution, im2col))


def _bind_backward_data(extern: Extern, binder: Probe) -> bool:
    return any(way.bind_backward_data(extern, binder) for way in (winograd, convolution, im2col))


def _bind_backward_weights(extern: Extern, binder: Probe) -> bool:
    return any(way.bind_backward_weights(extern, binder) for way in (few_channels, winograd, convolution, im2col))


KINDS: dict[str, tuple[Callable[[Extern, Probe], bool], Callable[[Extern], Choice]]] = {
    "matmul": (matmul.bind, _indifferent),
    "convolution_forward": (_bind_forward, _forward),
    "convolution_backward_data": (_bind_backward_data, _channels_last(True, False, True)),
    "convolution_backward_weights": (_bind_backward_weights, _backward_weights),
    "attention_forward": (attention.bind_forward, _indifferent),
    "attention_backward": (attention.bind_backward, _indifferent),
    "index_add": (scatter.bind_index_add, _indifferent),
    "scatter_add": (scatter.bind_scatter, _indifferent),
    "scatter_put": (scatter.bind_scatter, _indifferent),
    "running_sum": (running.bind, _indifferent),
    "running_product": (running.bind, _indifferent),
    "recurrence": (running.bind, _indifferent),
    "running_maximum": (running.bind, _indifferent),
    "running_minimum": (running.bind, _indifferent),
    **dict.fromkeys(recurrent.CELLS, (recurrent.bind, _indifferent)),
    "max_pool_backward": (pooling.bind_max_backward, _alike),
}
