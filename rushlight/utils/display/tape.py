"""`draw_tape`: the history of a tensor, as backward will walk it, as a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from ...core.tensor.tensor import Tensor
from .layered_layout import arrange

__all__ = ["TapeDrawing", "TapeNode", "draw_tape"]


@dataclass
class TapeNode:
    """One box of the picture.

    Attributes:
        kind: "operation"; "leaf", a tensor whose `.grad` will accumulate; "saved", a tensor that an operation keeps for
            its gradient; "result".
        lines: its text, such as ["weight", "[4, 3]", "AccumulateGrad"].
    """

    kind: str
    lines: list[str]


@dataclass
class TapeDrawing:
    """What `draw_tape` returns: in a notebook it shows itself, as a string it is a graph in DOT, Graphviz' language.

    Attributes:
        nodes: the boxes.
        edges: (number of a node, number of the node that uses its result, which of its results: 0 for the first).
    """

    nodes: list[TapeNode] = field(default_factory=list)
    edges: list[tuple[int, int, int]] = field(default_factory=list)

    def __str__(self) -> str:
        return _dot(self)

    def __repr__(self) -> str:
        return f"<drawing of a tape: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def _repr_svg_(self) -> str:
        return _svg(self)

    def save(self, path: Any) -> None:
        """Write the picture to a file: SVG for a name in .svg, DOT for one in .dot or .gv.

        Raises ValueError for any other name.
        """
        path = Path(path)
        forms = {".svg": _svg, ".dot": _dot, ".gv": _dot}
        if path.suffix not in forms:
            raise ValueError(f"TapeDrawing.save: the file's name has to end in .svg, .dot or .gv, not in {path.name!r}")
        path.write_text(forms[path.suffix](self) + "\n", encoding="utf-8")


def draw_tape(tensors: Any, params: Any = None, *, saved: bool = False) -> TapeDrawing:
    """A picture of the tape that ends in a tensor: which operations lead from its leaves to it.

    Operations have torch's names, as in `grad_fn=<MulBackward0>`. A leaf shows its name, its shape, and that its gradient
    accumulates. Lines lead from what was computed first to the result; `backward` walks them the other way.

    Args:
        tensors: a tensor with a history, several in a list, or a dict of their names.
        params: names of leaves: a dict as `dict(model.named_parameters())`. Other leaves show their shape alone.
        saved: whether to show the tensors that each operation keeps for its gradient.
    Raises:
        ValueError: a tensor has no history, as in `draw_tape(ones(2))`.
        TypeError: what is no tensor, as in `draw_tape(1)`.

    >>> from rushlight import ones
    >>> from rushlight.utils.display import draw_tape
    >>> w = ones(3, requires_grad=True)
    >>> drawing = draw_tape((2 * w).sum(), params={"w": w})
    >>> [node.lines for node in drawing.nodes]
    [['result', '[]'], ['SumBackward0'], ['MulBackward0'], ['w', '[3]', 'AccumulateGrad']]
    """
    names = {id(t): str(name) for name, t in _named(params or {}, "params")}
    walk = _Walk(names, saved)
    for name, t in _named(tensors, "tensors"):
        if not t.requires_grad:
            raise ValueError(f"draw_tape: {name or 'the tensor'} has no history, as it does not require gradients")
        walk.add(name or "result", t)
    if not walk.drawing.nodes:
        raise ValueError("draw_tape: no tensors were given")
    return walk.drawing


def _named(values: Any, argument: str) -> list[tuple[str, Tensor]]:
    if isinstance(values, Tensor):
        values = {"": values}
    pairs = (
        list(values.items())
        if isinstance(values, Mapping)
        else [("", t) for t in values]
        if isinstance(values, (list, tuple))
        else None
    )
    if pairs is None or any(not isinstance(t, Tensor) for _, t in pairs):
        raise TypeError(f"draw_tape: {argument} has to be a tensor, or a list or dict of tensors, not {values!r}")
    return pairs


def _shape(t: Any) -> str:
    return f"[{', '.join(map(str, t.shape))}]"


class _Walk:
    """From results to leaves; each node once."""

    def __init__(self, names: dict[int, str], saved: bool):
        self.drawing = TapeDrawing()
        self.names, self.saved = names, saved
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no identity comes twice

    def add(self, name: str, t: Tensor) -> None:
        """A result and all that leads to it."""
        number = self._box("result", [name, _shape(t)])
        if t.grad_fn is None:
            self.drawing.edges.append((self._leaf(t, t), number, 0))
            return
        todo = [(t.grad_fn, number, t.output_nr)]
        while todo:
            node, user, result = todo.pop()
            known = id(node) in self.numbers
            own = self._node(node)
            self.drawing.edges.append((own, user, result))
            if not known:
                todo += [(source, own, index) for source, index in reversed(node.next_functions) if source is not None]

    def _box(self, kind: str, lines: list[str], owner: Any = None) -> int:
        self.drawing.nodes.append(TapeNode(kind, lines))
        number = len(self.drawing.nodes) - 1
        if owner is not None:
            self.numbers[id(owner)] = number
            self.kept.append(owner)
        return number

    def _leaf(self, t: Tensor | None, owner: Any) -> int:
        """The box of a leaf's tensor; of `owner`, which knows the shape, where the tensor is gone."""
        of = owner if t is None else t
        known = self.numbers.get(id(of))
        if known is None:
            name = self.names.get(id(of))
            known = self._box("leaf", [*([name] if name else []), _shape(of), "AccumulateGrad"], of)
        self.numbers[id(owner)] = known
        self.kept.append(owner)
        return known

    def _node(self, node: Any) -> int:
        if (known := self.numbers.get(id(node))) is not None:
            return known
        if type(node).__name__ == "AccumulateGrad":
            return self._leaf(node.variable, node)
        own = self._box("operation", [type(node).__name__], node)
        for name, text in _saved_by(node) if self.saved else ():
            self.drawing.edges.append((self._box("saved", [name, text]), own, 0))
        return own


def _saved_by(node: Any) -> list[tuple[str, str]]:
    """(name, shape) of the tensors that a node keeps."""
    try:
        if not hasattr(type(node), "saved_tensors"):
            values = [
                (name.removeprefix("_saved_"), getattr(node, name)) for name in dir(node) if name.startswith("_saved_")
            ]
        else:
            values = [(f"saved_tensors[{n}]", t) for n, t in enumerate(node.saved_tensors)]
    except RuntimeError:
        return [("saved tensors", "freed by a backward")]
    found = []
    for name, value in values:
        parts = enumerate(value) if isinstance(value, (list, tuple)) else [("", value)]
        found += [(f"{name}[{n}]" if n != "" else name, _shape(t)) for n, t in parts if isinstance(t, Tensor)]
    return found


# ------------------------------------------------------------------------------------------------------------------ DOT

_FILLS = {"operation": "#eceff4", "leaf": "#cfe3fb", "saved": "#fdecc8", "result": "#cdeccf"}
_SHAPES = {"operation": "box", "leaf": "box", "saved": "note", "result": "box"}


def _dot(drawing: TapeDrawing) -> str:
    lines = ["digraph {", '  node [fontname="monospace", fontsize=11, style=filled]']
    for n, node in enumerate(drawing.nodes):
        label = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in node.lines)
        lines.append(f'  n{n} [label="{label}", shape={_SHAPES[node.kind]}, fillcolor="{_FILLS[node.kind]}"]')
    for start, end, result in drawing.edges:
        style = [f'label="{result}"'] if result else []
        style += ["style=dashed", "dir=none"] if drawing.nodes[start].kind == "saved" else []
        lines.append(f"  n{start} -> n{end}" + (f" [{', '.join(style)}]" if style else ""))
    return "\n".join([*lines, "}"])


# ------------------------------------------------------------------------------------------------------------------ SVG

# Each rule for this drawing only: a notebook puts it into its page, where the rules of a <style> are for all of the page.
_STYLE = (
    ".rushlight-tape rect{stroke:#8a94a6}"
    ".rushlight-tape text{fill:#1d2433;stroke:none;text-anchor:middle}"
    ".rushlight-tape text.index{text-anchor:start;font-size:9px}"
)
_LETTER, _LINE_HEIGHT, _PAD, _MARGIN = 6.7, 15.0, 8.0, 10.0  # of 11 pixels' monospace, in pixels


def _width(text: str) -> float:
    return _LETTER * sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _printable(text: str) -> str:
    """Without the characters that XML cannot have."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _label(results: list[int]) -> str:
    """What is written at the line of these results of a node: their numbers, or how many lines it is."""
    if any(results):
        return ", ".join(map(str, sorted(results)))
    return f"{len(results)}\N{MULTIPLICATION SIGN}" if len(results) > 1 else ""


def _svg(drawing: TapeDrawing) -> str:
    texts = [[_printable(line) for line in node.lines] for node in drawing.nodes]
    sizes = [(max(map(_width, text)) + 2 * _PAD, len(text) * _LINE_HEIGHT + _PAD) for text in texts]
    layout = arrange(sizes, [(start, end) for start, end, _ in drawing.edges])
    results: dict[tuple[int, int], list[int]] = defaultdict(list)
    for start, end, result in drawing.edges:
        results[start, end].append(result)
    parts = []
    for x0, y0, x1, y1, edge in layout.lines:
        dashed = edge is not None and drawing.nodes[drawing.edges[edge][0]].kind == "saved"
        end = ' stroke-dasharray="4 3"' if dashed else "" if edge is None else ' marker-end="url(#rushlight-tape-end)"'
        middle = f"{(y0 + y1) / 2:.1f}"
        bend = f"V{y1:.1f}" if abs(x0 - x1) < 0.5 else f"C{x0:.1f} {middle} {x1:.1f} {middle} {x1:.1f} {y1:.1f}"
        parts.append(f'<path d="M{x0:.1f} {y0:.1f}{bend}"{end}/>')
        if edge is not None and (label := _label(results[drawing.edges[edge][:2]])):
            parts.append(f'<text x="{x1 + 5:.1f}" y="{y1 - 8:.1f}" class="index">{label}</text>')
    for node, text, (x, y), (width, height) in zip(drawing.nodes, texts, layout.nodes, sizes, strict=True):
        corner = 3.0 if node.kind in ("operation", "saved") else 10.0
        box = f'x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{corner:.1f}"'
        parts.append(f'<rect {box} fill="{_FILLS[node.kind]}"/>')
        first = y - (len(text) - 1) * _LINE_HEIGHT / 2 + 4
        parts += [
            f'<text x="{x:.1f}" y="{first + n * _LINE_HEIGHT:.1f}">{escape(line)}</text>' for n, line in enumerate(text)
        ]
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_MARGIN} {-_MARGIN} {width:.1f} {height:.1f}" role="img">\n'
        f"<title>Tape of {len(drawing.nodes)} nodes</title>\n"
        '<defs><marker id="rushlight-tape-end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0.5 8 4 0 7.5z" fill="#667085" stroke="none"/></marker></defs>\n'
        f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{width:.1f}" height="{height:.1f}" fill="#ffffff"/>\n'
        '<g class="rushlight-tape" fill="none" stroke="#667085" stroke-width="1.1" font-family="monospace" font-size="11">\n'
        f"<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</g>\n</svg>"
    )
