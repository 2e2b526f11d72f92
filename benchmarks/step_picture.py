"""The picture of `python -m benchmarks steps`: the time of each variant relative to torch's eager step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .steps import Result, Row

_COLOURS = {
    "rushlight": "#f4a582",
    "rushlight.compile": "#ca0020",
    "torch": "#bababa",
    "torch.compile": "#737373",
    "jax.jit": "#7fb3d5",
}


def draw(results: list[Result], path: Path) -> Path:
    """Save grouped bars, a group per case: relative to torch eager, or in ms where it is missing."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [result for result in results if result.measured()]
    variants = [v for v in _COLOURS if any(row.variant == v for result in shown for row in result.measured())]
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.21 * len(shown) * (len(variants) + 1)), layout="constrained")
    relative = all(_torch_seconds(result) for result in shown)
    y, labels = 0.0, []
    for result in shown:
        rows = result.measured()
        labels.append((y + (len(rows) - 1) / 2, result.case))
        for row in rows:
            _bar(axes, y, row, _torch_seconds(result) if relative else 1e-3)
            y += 1
        y += 0.8
    axes.set_yticks([at for at, _ in labels], [name for _, name in labels])
    axes.invert_yaxis()
    _finish(axes, pyplot, variants, relative)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


def _torch_seconds(result: Result) -> float:
    return next((row.seconds for row in result.measured() if row.variant == "torch"), 0.0)


def _bar(axes, y: float, row: Row, unit: float) -> None:
    length, ms = row.seconds / unit, row.seconds * 1e3
    text = f"{length:.2f}   {ms:.3g} ms" if ms != length else f"{ms:.3g}"
    axes.barh(y, length, height=0.9, color=_COLOURS[row.variant], zorder=2)
    axes.annotate(
        text,
        (length, y),
        xytext=(4, -0.5),
        textcoords="offset points",
        va="center",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )


def _finish(axes, pyplot, variants: list[str], relative: bool) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.18, y=0.01)
    axes.set_xlabel("time of one training step, torch eager = 1 (shorter is faster)" if relative else "ms per step")
    if relative:
        axes.axvline(1, color="black", linewidth=0.8, linestyle=":", zorder=1)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=_COLOURS[v]) for v in variants]
    axes.figure.legend(handles, variants, loc="outside upper center", ncols=len(variants), frameon=False)
