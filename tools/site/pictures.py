"""`python -m tools.site.pictures`: draw the lessons' pictures into docs/lessons/pictures/, for light and dark pages."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "lessons" / "pictures"
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#222}.s{font-size:12px}.m{text-anchor:middle}.l{stroke:#222;fill:none;stroke-width:2}"
    ".t{stroke:#999;fill:none}.a{fill:#d9822b}.b{fill:#3b7dd8}.c{fill:#5a9e4b}.good{fill:#2e7d32}.bad{fill:#c62828}"
    ".r{stroke:#c62828;fill:none;stroke-width:3}.o{stroke:#d9822b;fill:none;stroke-width:2.5}.k{fill:#8884}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.l{stroke:#ddd}.t{stroke:#777}.good{fill:#81c784}.bad{fill:#ff8a80}"
    ".r{stroke:#ff8a80}}"
)


def _picture(width: int, height: int, title: str, *parts: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    return "\n".join([head, f"<title>{title}</title>", f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def _text(x: float, y: float, words: str, kind: str = "m") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{words}</text>'


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3"/>'


def _line(points: list[tuple[float, float]], kind: str) -> str:
    return f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _arrow(x: float, y: float, to: float, kind: str = "l") -> str:
    back = -7 if to > x else 7
    return _line([(x, y), (to, y)], kind) + _line([(to + back, y - 5), (to, y), (to + back, y + 5)], kind)


def slope() -> str:
    """The parabola with two tangents."""

    def at(w: float, loss: float) -> tuple[float, float]:
        return 60 + (w + 1) * 110, 250 - loss * 18

    curve = [at(i / 20, (i / 20) ** 2) for i in range(-20, 71)]
    parts = [_line([at(-1, 0), at(3.6, 0)], "t"), _line([at(0, -0.4), at(0, 12.5)], "t"), _line(curve, "l")]
    for w, reach in ((1.0, 1.0), (3.0, 0.55)):
        parts.append(_line([at(w - reach, w * w - 2 * w * reach), at(w + reach, w * w + 2 * w * reach)], "o"))
        x, y = at(w, w * w)
        parts.append(f'<circle class="b" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        parts.append(
            _text(x + (14 if w == 1 else -14), y + (6 if w == 1 else 0), f"slope {2 * w:g}", "" if w == 1 else "e")
        )
        parts.append(_text(x, 270, f"{w:g}", "m s"))
    parts += [_text(560, 270, "w", "m"), _text(at(0, 0)[0] + 8, 30, "loss = w * w", "")]
    return _picture(600, 280, "The curve of w squared, with its tangents at 1 and 3", *parts).replace(
        'class="e"', 'text-anchor="end"'
    )


def accumulates() -> str:
    """Bars of .grad after three backward calls, without and with a clear."""
    parts = []
    for side, (left, title) in enumerate(((40, "no clear"), (340, "cleared before each backward"))):
        parts += [_text(left + 110, 24, title), _line([(left, 190), (left + 220, 190)], "l")]
        for n in range(3):
            x = left + 15 + n * 72
            levels = range(n + 1) if side == 0 else range(1)
            parts += [_box(x, 152 - 42 * level, 46, 38, "abc"[n if side else level]) for level in levels]
            parts.append(_text(x + 23, 210, f"backward {n + 1}", "m s"))
            parts.append(_text(x + 23, 228, f".grad = {6 * len(levels)}", "m s"))
    return _picture(600, 240, "What .grad holds after each of three backward calls", *parts)


def places() -> str:
    """One turn of the loop, with the places of the clear."""
    parts = [_line([(20, 90), (580, 90)], "t")]
    for x, name, kind in ((120, "forward", "b"), (270, "backward", "a"), (420, "step", "c")):
        parts += [_box(x, 65, 100, 50, kind), f'<text class="m" x="{x + 50}" y="95" style="fill:#fff">{name}</text>']
    for x, fits in ((70, True), (245, True), (395, False), (560, True)):
        kind = "good" if fits else "bad"
        parts.append(f'<path class="{kind}" d="M{x - 8},40 h16 l-8,14 z"/>')
        parts.append(_text(x, 30, "clear" if fits else "erases", f"m s {kind}"))
    parts += [_text(70, 140, "before", "m s"), _text(245, 140, "between", "m s"), _text(395, 140, "too early", "m s")]
    parts.append(_text(560, 140, "after", "m s"))
    return _picture(600, 155, "Where zero_grad may be within a step", *parts)


def detach() -> str:
    """A chain of values, with the way back cut at h."""
    parts = []
    for x, name, kind in ((40, "w", "b"), (240, "h = w * w", "k"), (460, "loss", "a")):
        parts += [_box(x, 50, 100, 46, kind), _text(x + 50, 78, name)]
    parts += [_arrow(144, 66, 236), _arrow(344, 66, 456), _arrow(456, 84, 344, "o"), _arrow(236, 84, 144, "t")]
    parts += [_line([(182, 72), (206, 96)], "r"), _line([(206, 72), (182, 96)], "r")]
    parts += [
        _text(400, 40, "values", "m s"),
        _text(400, 118, "gradients", "m s"),
        _text(194, 118, "cut by detach", "m s bad"),
    ]
    return _picture(600, 135, "A graph that is cut at h", *parts)


def batches() -> str:
    """Four gradients that add up."""
    parts = []
    for n in range(4):
        x = 20 + n * 92
        parts += [
            _box(x, 120, 34, 44, "b"),
            _box(x + 38, 120, 34, 44, "a"),
            _text(x + 36, 184, f"batch {n + 1}", "m s"),
        ]
        parts += [_box(x + 38, 96 - 20 * level, 34, 17, "a") for level in range(n + 1)]
    parts += [_arrow(392, 66, 450), _box(460, 36, 34, 77, "a"), _box(500, 120, 70, 44, "c")]
    parts += [
        _text(535, 147, "step", "m"),
        _text(477, 28, ".grad of all four", "m s"),
        _text(20, 24, "each loss / 4", "s"),
    ]
    parts.append(_text(20, 206, "blue: forward, orange: backward and what .grad holds after it", "s"))
    return _picture(600, 215, "Accumulation over four small batches", *parts)


def doctor() -> str:
    """Which backward calls each step uses."""
    parts = []
    for lane, (y, title) in enumerate(((66, "cleared"), (156, "not cleared"))):
        parts += [_text(12, y + 22, title, "s"), _line([(110, y + 40), (590, y + 40)], "t")]
        for n in range(3):
            x = 125 + n * 155
            parts += [_box(x, y, 44, 36, "a"), _box(x + 80, y, 44, 36, "c")]
            count = n + 1 if lane else 1
            kind = "bad" if count > 1 else "good"
            parts.append(_text(x + 102, y + 56, f"uses {count}", f"m s {kind}"))
    parts.append(_text(125, 30, "orange: backward, green: step", "s"))
    return _picture(600, 225, "How many backward calls each step uses", *parts)


def tape() -> str:
    """The drawing that the lesson's program makes."""
    import rushlight
    from rushlight.utils.display import draw_tape

    w = rushlight.tensor(3.0, requires_grad=True)
    h = w * w
    return draw_tape({"whole": h * w, "cut": h.detach() * w}, params={"w": w})._repr_svg_() + "\n"


PICTURES = {f.__name__: f for f in (slope, accumulates, places, detach, tape, batches, doctor)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw())
