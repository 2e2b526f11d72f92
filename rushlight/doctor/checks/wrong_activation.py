"""What a loss or a distribution is given is not what it expects: logits for log-probabilities, probabilities for logits."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from ...core.tensor.node import Leaf
from ...core.tensor.tensor import Tensor
from ..events import Backward
from ..places import call_with, is_of_program, layer_made_within, place_of_error
from ..tape import Tape, behind, inputs_of, kind_of, name_of, saved
from . import Check

_SCORES = frozenset(
    [
        "linear",
        "addmm",
        "mm",
        "bmm",
        "matmul",
        "convolution",
        "baddbmm",
        "relu",
        "gelu",
        "silu",
        "tanh",
        "sigmoid",
        "softmax",
        "leaky_relu",
        "elu",
        "softplus",
        "hardtanh",
    ]
)
_LAYERS = ("linear", "addmm", "convolution")
_DISTRIBUTIONS = ("bernoulli", "continuousbernoulli", "relaxedbernoulli", "geometric", "binomial", "negativebinomial")
_SQUASHED = ("sigmoid", "softmax")


class WrongActivation(Check):
    """Sigmoid before BCE-with-logits, scores or probabilities into NLLLoss, probabilities into KLDivLoss or logits=."""

    name = "wrong-activation"
    severity = "error"

    def on_tape(self, event: Backward) -> None:
        assert event.tape is not None
        for loss, source, at_source, message, mend in _faults(event.tape):
            loss_line = self.doctor.lines.of(loss, event.tape)
            source_line = self.doctor.lines.of(source, event.tape)
            place = (source_line if at_source else loss_line) or loss_line or event.place
            named = call_with(loss_line, "logits", _DISTRIBUTIONS) if at_source and loss_line is not None else None
            if named is not None:  # of a distribution
                place, mend = named, f"pass them as probs=, or leave the {kind_of(source)} out"
                message = f"logits= is given the probabilities of {kind_of(source)}, to which the sigmoid is applied once more"
            elif at_source:
                place = layer_made_within(place, *_SQUASHED) or place
            related = [(loss_line, "the loss"), (source_line, f"made by {kind_of(source)}")]
            self.doctor.report(self, place, message, mend, [r for r in related if r[0] is not place], after=1)

    def on_uncaught(self, error: BaseException) -> None:
        """binary_cross_entropy raises where it is given scores; of nan, too, which another check tells of."""
        place = place_of_error(error)
        if place is None or "all elements of input should be between 0 and 1" not in str(error) or _has_nan(error):
            return
        self.doctor.report(
            self,
            place,
            "binary_cross_entropy expects probabilities, and is given scores",
            "use binary_cross_entropy_with_logits (BCEWithLogitsLoss), which applies the sigmoid itself",
            after=1,
        )


def _has_nan(error: BaseException) -> bool:
    """Whether a tensor in the frames of this package that raised an error is not finite."""
    link, found = error.__traceback__, False
    while link is not None:
        if not is_of_program(link.tb_frame):
            values = [getattr(v, "_array", v) for v in link.tb_frame.f_locals.values()]
            found = found or any(
                isinstance(a, np.ndarray) and a.dtype.kind == "f" and np.isnan(a).any() for a in values
            )
        link = link.tb_next
    return found


def _faults(tape: Tape) -> Iterator[tuple[Any, Any, bool, str, str]]:
    for node in tape.nodes:
        name = name_of(node)
        if name not in ("binary_cross_entropy_with_logits", "nll_loss", "nll_loss2d", "logsumexp", "sub"):
            continue
        for source in inputs_of(node):
            kind = kind_of(source)
            if type(source) is Leaf or not kind:
                continue
            if name == "binary_cross_entropy_with_logits" and kind in _SQUASHED:
                if source is not behind(node.edges[0]):
                    continue  # the target, as in an entropy
                yield (
                    node, source, True,
                    f"this {kind} feeds binary_cross_entropy_with_logits, which applies the sigmoid itself",
                    "give it the scores as they are, or use binary_cross_entropy",
                )  # fmt: skip
            elif name.startswith("nll_loss") and kind in _SQUASHED:
                yield (
                    node, source, True,
                    f"nll_loss expects log-probabilities, and this {kind} gives probabilities",
                    "use log_softmax here, or cross_entropy on the scores",
                )  # fmt: skip
            elif name.startswith("nll_loss") and kind in _SCORES:
                yield (
                    node, source, False,
                    f"nll_loss expects log-probabilities, and is given the scores of {kind}: it can fall without bound",
                    "use cross_entropy, or log_softmax(scores, dim=1) before it",
                )  # fmt: skip
            elif name == "logsumexp" and kind in _SQUASHED:
                yield (
                    node, source, False,
                    f"logits= is given the probabilities of {kind}, which are normalised once more",
                    "pass them as probs=, or leave the softmax out",
                )  # fmt: skip
            elif name == "sub" and kind == "mul" and _is_divergence(node, source):
                squashed = next(s for s in inputs_of(source) if kind_of(s) in _SQUASHED)
                yield (
                    node, squashed, True,
                    f"kl_div expects log-probabilities as its input, and this {kind_of(squashed)} gives probabilities",
                    "use log_softmax for the input of kl_div",
                )  # fmt: skip
            elif name == "sub" and kind == "mul" and _is_divergence(node, source, _LAYERS):
                yield (
                    node, source, False,
                    "kl_div expects log-probabilities as its input, and is given scores",
                    "use log_softmax for the input of kl_div",
                )  # fmt: skip


def _is_divergence(sub: Any, mul: Any, of: Container[str] = _SQUASHED) -> bool:
    """Whether a difference is `t log t - t * p`, with a target t of probabilities: what kl_div computes."""
    if sub.edges[0] is not None or sub.edges[1] is None:
        return False
    target = saved(mul, "x") if isinstance(saved(mul, "x"), Tensor) else saved(mul, "y")
    if not isinstance(target, Tensor) or target._edge is not None or not target._array.size:
        return False
    array = target._array
    if array.ndim < 1 or array.min() < 0 or array.max() > 1 + 1e-4 or abs(float(array.sum(-1).mean()) - 1) > 1e-2:
        return False
    return any(kind_of(behind(e)) in of for e in mul.edges if e is not None)
