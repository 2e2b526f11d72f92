"""Which calls may raise for the values of their operands.

Such a call stays even where nothing reads its result: eager calls raise there, too.
"""

from __future__ import annotations

from ..rules.table import CHECKING, RULES
from .exchange import is_exchange
from .graph import Call, Node

# Kernels without a rule that take any value.
_TOLERANT = frozenset(
    """
    sort argsort topk cumsum cumprod cummax cummin logcumsumexp max.dim min.dim argmax argmin median.dim kthvalue flip roll
    searchsorted bucketize
    """.split()  # noqa: SIM905
)


def may_refuse(node: Node) -> bool:
    """Whether a node may raise for values: its rule checks them, or there is none, and its kernel may."""
    if not isinstance(node, Call):
        return False
    record = node.record
    name = record.name
    if name in CHECKING:
        return True
    if record.kind != "general" or record.view or record.draws == "shape" or name in RULES or name in _TOLERANT:
        return False
    return not name.endswith(("backward", "in order"))


def stays(node: Node) -> bool:
    """Whether a node is run for more than its results: it draws random numbers, tells other processes, or may refuse a value."""
    return isinstance(node, Call) and bool(node.record.draws) or is_exchange(node) or may_refuse(node)
