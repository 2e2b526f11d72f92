"""Where one program diverges from torch: digits of every step's loss and gradients, and torch's with itself."""

import math

from acceptance import compare

KEPT = 3  # steps whose gradients are compared whole; after them by the sum of their magnitudes


def table(entry, sides):
    """The lines of a table: for each step torch's loss, then the digits of loss and gradient of each other run.

    rushlight: against torch. plain, nudged: torch's own, on twice the threads without oneDNN and from parameters one unit
    in the last place away. exact: torch's and ours against torch's in double precision from the same parameters and random
    numbers. float64: Rushlight's against torch's where the whole program is in double precision under both.
    """
    base = sides.theirs(keep=KEPT)
    others = {"rushlight": sides.ours(keep=KEPT)}
    others["plain"], others["nudged"] = sides.yardsticks(keep=KEPT)
    exact = sides.exact(keep=KEPT)
    pairs = {name: (base, other) for name, other in others.items()}
    pairs |= {
        "exact": (exact, base),
        "exact, ours": (exact, others["rushlight"]),
        "float64": sides.in_float64(keep=KEPT),
    }
    yield f"{entry.name}: digits of loss, gradients"
    for name, (first, second) in pairs.items():
        for run in (first, second):
            if run["error"]:
                yield f"  {name}: {run['error'].splitlines()[-1]}"
    yield f"{'step':>5} {'loss':>13} " + " ".join(f"{name:>11}" for name in pairs)
    series = {name: list(_digits(*pair)) for name, pair in pairs.items()}
    for number, record in enumerate(base["records"][: compare.STEPS]):
        loss = sum(record["losses"]) if record["losses"] else math.nan
        cells = [row[number] if number < len(row) else ("", "") for row in series.values()]
        yield f"{number + 1:5} {loss:13.7g} " + " ".join(f"{a:>5} {b:>5}" for a, b in cells)
    yield from _worst(base, others)


def _digits(first, second):
    """(digits of the loss, of the gradients) for each step, as text."""
    for number, (a, b) in enumerate(zip(first["records"], second["records"])):
        losses = [compare.digits(x, y) for x, y in zip(a["losses"], b["losses"])]
        yield _text(min(losses, default=None)), _text(_gradient_digits(first, second, number, a, b))


def _gradient_digits(first, second, number, a, b):
    if number < len(first["kept"]) and number < len(second["kept"]):
        return _norm_digits(first["kept"][number], second["kept"][number])
    return compare.digits(a["grads"], b["grads"]) if "grads" in a and "grads" in b else None


def _norm_digits(first, second):
    """-log10 of |first - second| / |first| over all arrays together."""
    difference = sum(_square(x, y) for x, y in zip(first, second))
    size = sum(_square(x, 0.0) for x in first)
    return min(16.0, -0.5 * math.log10(difference / size)) if difference and size else 16.0


def _square(x, y):
    return float(((x - y) ** 2).sum())


def _worst(base, others):
    """For the first step, the gradients where Rushlight has fewest digits, and the yardsticks' digits of the same."""
    if not all(run["kept"] for run in (base, *others.values())):
        return
    rows = []
    for at, first in enumerate(base["kept"][0]):
        digits = [_norm_digits([first], [other["kept"][0][at]]) for other in others.values()]
        rows.append((round(digits[0] - min(digits[1:]), 1), at, first.shape, digits))
    yield "  first step, gradients with fewest digits, and the yardsticks':"
    for _, at, shape, digits in sorted(rows, key=lambda row: row[:2])[:5]:
        yield f"  {at:4} {shape!s:22}" + " ".join(f"{name} {number:.1f}" for name, number in zip(others, digits))


def _text(digits):
    return "" if digits is None else f"{digits:.1f}"
