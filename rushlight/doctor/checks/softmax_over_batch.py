"""A softmax over the batch: the probabilities of one class over all samples sum to 1, and not those of a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tensor.node import Leaf
from ..events import Backward
from ..places import layer_made_within
from ..tape import LOSSES, VIEWS, Tape, behind, name_of, saved
from . import Check

_KEEP_LAST = frozenset(
    ("view", "reshape", "expand", "contiguous", "clone", "to", "_to_copy", "mul")
)  # dropout multiplies
_KEEP_ORDER = frozenset(("unsqueeze", "view", "reshape", "expand", "part", "contiguous", "clone", "to", "_to_copy"))
_PRODUCTS = frozenset(("matmul", "bmm", "mm", "baddbmm"))
_SCALED = VIEWS | {"mul", "div", "masked_fill", "masked_fill.number", "add", "sub", "where"}
_SECOND = {2: (1, -1, (1,), (-1,)), 3: (1, -2, (1,), (-2,))}  # names of the second dimension, of so many
_THROUGH = VIEWS | {"log", "clamp", "add", "mul", "neg"}


class SoftmaxOverBatch(Check):
    """dim=0 of a result of shape (N, C) that goes into a loss."""

    name = "softmax-over-batch"
    severity = "error"

    def on_tape(self, event: Backward) -> None:
        tape = event.tape
        assert tape is not None
        for node in tape.nodes:
            if name_of(node) in ("sum", "sum.dim"):
                self._look_at_weights(node, tape)
            if name_of(node) in _PRODUCTS and not self._look_at_mixture(node, tape):
                self._look_at_attention(event, node, tape)
            picks = name_of(node) in ("gather", "index") and _picks_of_each_row(node)
            if not picks and (name_of(node) not in LOSSES or not node.edges):
                continue
            through = _THROUGH | {"div", "sub"} if picks else _THROUGH  # a distribution normalises what it is given
            source = _softmax_over_batch(node.edges[0], through, "softmax", "log_softmax")
            if source is None:
                continue
            place = self.doctor.lines.of(source, tape) or event.place
            place = layer_made_within(place, "softmax", "logsoftmax") or place
            self.doctor.report(
                self,
                place,
                f"{name_of(source)} over dimension 0 of {list(source.shape)}: each class's column sums to 1 over the batch, "
                "instead of each sample's row over the classes",
                "softmax over the classes: dim=1 (or dim=-1)",
                [(self.doctor.lines.of(node, tape), "takes one class of each sample" if picks else "the loss")],
                after=1,
            )

    def _look_at_mixture(self, node: Any, tape: Tape) -> bool:
        """A product for each sample, over which weights of shape (N, C) sum to 1. Whether it is one."""
        for edge, summed in zip(node.edges[-2:], (-1, -2), strict=False):
            source = _softmax_over_batch(edge, _KEEP_ORDER, "softmax")
            if (
                source is not None
                and len(edge.shape) == 3
                and (edge.shape[0], edge.shape[summed]) == tuple(source.shape)
            ):
                self._tell_of_weights(source, node, tape)
                return True
        return False

    def _look_at_attention(self, event: Backward, node: Any, tape: Tape) -> None:
        """A product whose weights sum to 1 over its first dimension, while it sums over the last."""
        source = behind(node.edges[-2], _KEEP_LAST) if len(node.edges) >= 2 else None
        if source is None or type(source) is Leaf or name_of(source) != "softmax" or len(source.shape) < 2:
            return
        if saved(source, "dim") not in (0, -len(source.shape)) or min(source.shape[0], source.shape[-1]) < 2:
            return
        weights = node.edges[-2]
        if type(weights) is Leaf or weights.shape[-1] != source.shape[-1]:
            return
        if len(source.shape) == 2 and name_of(behind(source.edges[0], _SCALED)) not in _PRODUCTS:
            return  # no scores of queries and keys: a transition matrix may have columns that sum to 1
        event.explained = True  # a row that is masked in all samples is nan
        self.doctor.report(
            self,
            self.doctor.lines.of(source, tape) or event.place,
            f"softmax over dimension 0 of {list(source.shape)}, whose last dimension is then summed with values: the weights sum to 1 over "
            "the batch, instead of over what is attended to",
            "softmax over the last dimension: dim=-1",
            [(self.doctor.lines.of(node, tape), "the weighted sum")],
            after=1,
        )

    def _look_at_weights(self, node: Any, tape: Tape) -> None:
        """A sum over the choices of each sample, by weights that sum to 1 over the samples."""
        product = behind(node.edges[0], VIEWS)
        if type(product) is Leaf or name_of(product) != "mul" or len(product.shape) not in (2, 3):
            return
        if saved(node, "dim") not in _SECOND[len(product.shape)]:
            return
        for edge in product.edges:
            source = _softmax_over_batch(edge, _KEEP_ORDER, "softmax")
            if source is not None and tuple(source.shape) == tuple(product.shape)[:2]:
                self._tell_of_weights(source, node, tape)

    def _tell_of_weights(self, source: Any, node: Any, tape: Tape) -> None:
        self.doctor.report(
            self,
            self.doctor.lines.of(source, tape),
            f"softmax over dimension 0 of {list(source.shape)}, whose rows are then weights in a sum over dimension 1: "
            "they sum to 1 over the batch, instead of over each sample's choices",
            "softmax over the choices: dim=1 (or dim=-1)",
            [(self.doctor.lines.of(node, tape), "the sum")],
            after=1,
        )


def _picks_of_each_row(node: Any) -> bool:
    """Whether an operator takes one element of each row of a matrix: `p.gather(1, action)`, `p[range(N), action]`."""
    if name_of(node) == "gather":
        shape, index = saved(node, "input_shape"), saved(node, "index")
        return len(shape) == 2 and saved(node, "dim") in (1, -1) and tuple(index._array.shape) == (shape[0], 1)
    rest, shapes = saved(node, "tensors_rest"), saved(node, "tensors_shape")
    if not isinstance(rest, tuple) or len(rest) != 2 or not shapes or len(shapes[0]) != 2:
        return False
    rows = getattr(rest[0], "_array", None)
    return rows is not None and rows.shape == (shapes[0][0],) and bool((rows == np.arange(len(rows))).all())


def _softmax_over_batch(edge: Any, through: frozenset[str], *names: str) -> Any:
    """The softmax over dimension 0 of a matrix that an edge's value comes from; None where it does not."""
    node = behind(edge, through)
    if node is None or type(node) is Leaf or name_of(node) not in names:
        return None
    is_over_batch = saved(node, "dim") in (0, -2) and len(node.shape) == 2 and min(node.shape) > 1
    return node if is_over_batch else None
