"""What was captured of a function, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from .capture.sources import Argument, CaptureError, Gradient, Into, Option, Window
from .ir.exchange import described
from .ir.graph import Call, Graph
from .jit.step import CompiledStep, _Captured


class Explanation:
    """The programs of a compiled function. `str()` is a report; `graphs` are the captured ones, newest first.

    programs: how many there are; operators: how often each runs in the newest; backward: its backward's graph, or None;
    break_reasons: why there is no program, a sentence with the line of Python, else empty.
    """

    def __init__(self, name: str, captured: list[_Captured], break_reasons: tuple[str, ...] = ()):
        self.name, self.break_reasons = name, list(break_reasons)
        self.programs = len(captured)
        self.graphs = [c.graph for c in captured]
        self.backward = captured[0].backward.graph if captured and captured[0].backward is not None else None
        self.operators = _operators(captured[0].graph) if captured else Counter()
        self._captured = captured

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.programs} program{'s' * (self.programs != 1)}"]
        for i, c in enumerate(self._captured):
            lines.append(f"program {i}: {_inputs(c.graph)}")
            lines.append(f"  operators: {_counts(_operators(c.graph))}")
            if c.backward is not None:
                lines.append(f"  backward: {_counts(_operators(c.backward.graph))}")
            exchanged = described(c.graph.nodes)
            if exchanged:
                lines.append(f"  exchanges with other processes: {exchanged}")
            written = sum(isinstance(t, Into) for _, t in c.graph.outputs)
            lines.append(f"  writes {written} tensors in place, makes {len(c.graph.outputs) - written} new ones")
            executable = None if c.program is None else c.program.executable
            describe = getattr(executable, "describe", None)
            lines.append(f"  runs on: {type(executable).__name__}" if describe is None else f"  {describe()}")
        lines += [f"runs eagerly: {reason}" for reason in self.break_reasons]
        return "\n".join(lines)

    __repr__ = __str__


def explain(function: Callable) -> Callable[..., Explanation]:
    """`explain(step)(*args)`: the `Explanation` of `step` for these arguments.

    A function that is compiled already is not called if it has a program for the arguments; else it is called, really,
    until it has one (three times, for a new function). Of one that cannot be captured the explanation says why.
    """
    step: Any = getattr(function, "forward", function)
    step = step if isinstance(step, CompiledStep) else CompiledStep(function, fullgraph=True)

    name = getattr(step.function, "__qualname__", repr(step.function))

    def about(*args: Any, **kwargs: Any) -> Explanation:
        for _ in range(4):
            if step.has_program(args, kwargs) or step.given_up:
                break
            try:
                step(*args, **kwargs)
            except CaptureError as error:
                return Explanation(name, step.captured, (str(error),))
        return Explanation(name, step.captured)

    return about


def _operators(graph: Graph) -> Counter:
    return Counter(n.record.name if isinstance(n, Call) else type(n).__name__.lower() for n in graph.nodes)


def _counts(operators: Counter) -> str:
    return ", ".join(f"{n} {name}" if n > 1 else name for name, n in operators.most_common()) or "none"


def _inputs(graph: Graph) -> str:
    kinds = Counter(
        _KINDS.get(type(s.source if isinstance(s, Window) else s), "tensors") for s in graph.inputs.values()
    )
    return "from " + (", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "nothing")


_KINDS = {Argument: "arguments", Gradient: "gradients", Option: "changing options"}
