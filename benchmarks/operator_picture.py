"""The picture of `python -m benchmarks operators`: each operator's time relative to torch's, by family and size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .operators import Row

_COLOURS = {64: "#7fb3d5", 10_000: "#2e6f9e", 1_000_000: "#0b2f4a"}


def draw(rows: list[Row], path: Path) -> Path:
    """Save one panel for forward and one with gradients: a dot for each operator and size, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    families = list(dict.fromkeys(row.family for row in rows))
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 1.4 + 0.6 * len(families)), sharey=True, layout="constrained")
    for axes, gradients in zip(panels, (False, True), strict=True):
        shown = [row for row in rows if row.gradients is gradients]
        for k, (size, colour) in enumerate(_COLOURS.items()):
            dots = [row for row in shown if row.size == size]
            heights = [families.index(row.family) + 0.25 * (k - 1) for row in dots]
            axes.scatter(
                [row.ratio for row in dots], heights, s=9, color=colour, alpha=0.7, label=f"{size:,}", zorder=2
            )
        axes.axvline(1.0, color="#444444", linewidth=0.8, zorder=1)
        axes.axvline(1.5, color="#ca0020", linewidth=0.8, linestyle="--", zorder=1)
        axes.set_xscale("log")
        axes.set_xticks([0.1, 0.25, 0.5, 1, 1.5, 3, 10], ["0.1", "0.25", "0.5", "1", "1.5", "3", "10"])
        axes.minorticks_off()
        axes.grid(axis="x", color="#dddddd", linewidth=0.6, zorder=0)
        axes.set_title("with gradients" if gradients else "forward", fontsize=10)
        axes.set_xlabel("time relative to torch (left is faster)", fontsize=9)
        axes.tick_params(labelsize=9)
    panels[0].set_yticks(range(len(families)), families)
    panels[0].invert_yaxis()
    where = {"loc": "center right", "bbox_to_anchor": (1.0, 0.78)}  # in place and draws have few gradients
    panels[1].legend(title="elements", fontsize=8, title_fontsize=8, **where)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path
