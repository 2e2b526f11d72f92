"""Two runs, number by number: what was printed, and the loss, parameters and gradients of every step."""

import math
import re
from dataclasses import dataclass

DIGITS = 4
STEPS = 50
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|(?<![A-Za-z])[-+]?(?:nan|inf)(?![A-Za-z])")
_TIMES = (
    r"\b(?:ms|s|sec|time)/(?:batch|step|it|epoch):?\s*\d+(?:\.\d+)?",
    r"\d+(?:\.\d+)?\s?(?:ms|us|seconds|second|secs|sec|s|minutes|min)\b(?:/\w+)?",
    r"\d+(?:\.\d+)?\s?(?:it|img|tokens|samples|examples)/s",
    r"\d+:\d\d(?::\d\d)?(?:\.\d+)?",
    r"\b20\d\d-\d\d-\d\d\b",
    r"\+(?:cpu|rushlight)\b",
    r"object at 0x[0-9a-f]+",
)


@dataclass(frozen=True)
class Line:
    """A printed line: the text around its numbers, the numbers as printed, and the byte where it ends."""

    text: str
    numbers: tuple
    end: int


def lines_of(printed, ignore=()):
    """The lines of a program's output that carry words or numbers; times, dates and what `ignore` matches taken out."""
    drop = re.compile("|".join(f"(?:{pattern})" for pattern in (*ignore, *_TIMES)))
    lines, end = [], 0
    for raw in printed.split("\n"):
        end += len(raw.encode()) + 1
        kept = drop.sub("", raw.rpartition("\r")[2] if not raw.endswith("\r") else raw.strip("\r").rpartition("\r")[2])
        if kept.strip():
            text = " ".join(_NUMBER.sub("#", kept).split())
            lines.append(Line(text, tuple(_NUMBER.findall(kept)), end))
    return lines


def digits(a, b, floor=0.0):
    """How many leading digits two values share: -log10 of their relative difference, at most 16.

    `floor` is the least magnitude that counts: values below it are compared as if they were as large.
    """
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 16.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return 0.0
    scale = max(abs(a), abs(b), floor)
    return min(16.0, max(0.0, -math.log10(abs(a - b) / scale)))


def printed_digits(a, b):
    """`digits` for two numbers as printed: a difference of one unit in the last printed place is full agreement."""
    x, y = float(a), float(b)
    if math.isfinite(x) and math.isfinite(y) and _is_decimal(a) and abs(x - y) <= 1.0001 * max(_unit(a), _unit(b)):
        return 16.0
    return digits(x, y)


def _is_decimal(number):
    return "." in number or "e" in number.lower()


def _unit(number):
    """The value of a one in the last printed place."""
    mantissa, _, exponent = number.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def compare(theirs, ours, ignore=(), steps=STEPS, enough=DIGITS, lines=STEPS):
    """What agrees between torch's run and Rushlight's.

    A dict: equal (bool), first_apart (a sentence, or ""), apart_at (the step where the first number parts, or None),
    loss_digits, params_digits, grads_digits (the fewest over the first `steps` steps), steps_compared, numbers_compared.
    Where no step was seen, the first `lines` printed lines are compared (0: all).
    """
    rows = list(zip(theirs["records"][:steps], ours["records"][:steps]))
    losses, params, grads = (_series(rows, key) for key in ("losses", "params", "grads"))
    printed, numbers = _printed_apart(theirs, ours, ignore, steps, enough, lines)
    found = [
        part for part in (_first_step_apart(losses, enough), printed, _counts_apart(theirs, ours, rows, steps)) if part
    ]
    return {
        "equal": not found,
        "first_apart": "; ".join(sentence for _, sentence in found),
        "apart_at": min((step for step, _ in found), default=None),
        "loss_digits": _fewest(losses),
        "params_digits": _fewest(params),
        "grads_digits": _fewest(grads),
        "steps_compared": len(rows),
        "numbers_compared": numbers,
    }


def is_rounding(found, yardsticks, exact=None):
    """Whether a run diverges from torch's for no other reason than rounding, by either of two signs.

    `yardsticks`: comparisons of torch with torch, with other kernels or parameters one unit in the last place away. One
    draw of rounding errors parts a little sooner or later than another, so a run may part at 0.7 of the earliest
    yardstick's step. `exact`: the `digits_of_losses` of torch's and of Rushlight's run against
    torch's in double precision, up to the step where they part: Rushlight's error may be five times torch's.
    """
    if found["apart_at"] is None:
        return False
    if exact and exact["rushlight"] is not None and exact["rushlight"] >= exact["torch"] - 0.7:
        return True
    steps = [yardstick["apart_at"] for yardstick in yardsticks if yardstick["apart_at"] is not None]
    return bool(steps) and found["apart_at"] >= 0.7 * min(steps)


def digits_of_losses(exact, run, steps):
    """The fewest digits that the losses of the first `steps` steps share with those of the exact run; None without any."""
    rows = list(zip(exact["records"][:steps], run["records"][:steps]))
    return _fewest(_series(rows, "losses"))


def _series(rows, key):
    """[(step, theirs, ours, digits)] of one recorded quantity."""
    pairs = []
    for number, (a, b) in enumerate(rows, 1):
        x, y = a.get(key), b.get(key)
        if isinstance(x, list):
            pairs += [(number, *pair) for pair in zip(x, y)]
        elif x is not None and y is not None:
            pairs.append((number, x, y))
    sizes = sorted(abs(x) for _, x, _ in pairs if math.isfinite(x))
    floor = 1e-3 * sizes[len(sizes) // 2] if sizes else 0.0
    return [(number, x, y, digits(x, y, floor)) for number, x, y in pairs]


def _fewest(series):
    return round(min(row[3] for row in series), 2) if series else None


def _first_step_apart(series, enough):
    for step, x, y, agreed in series:
        if agreed < enough:
            return step, f"loss at step {step}: {x:.8g} under torch, {y:.8g} under Rushlight"
    return None


def _counts_apart(theirs, ours, rows, steps):
    """A different number of steps, or of backward calls within one."""
    for step, (a, b) in enumerate(rows, 1):
        if len(a["losses"]) != len(b["losses"]):
            return (
                step,
                f"{len(a['losses'])} backward calls in step {step} under torch, {len(b['losses'])} under Rushlight",
            )
    if len(theirs["records"][:steps]) != len(ours["records"][:steps]):
        sentence = f"{len(theirs['records'])} steps under torch, {len(ours['records'])} under Rushlight"
        return len(rows) + 1, sentence
    return None


def _printed_apart(theirs, ours, ignore, steps, enough, lines):
    """((step, a sentence about the first printed line that differs) or None, numbers compared).

    Lines printed before the step after the last one count; where no step was seen, the first `lines`.
    """
    records, compared = theirs["records"], 0
    a, b = lines_of(theirs["out"], ignore), lines_of(ours["out"], ignore)
    if not records:
        a, b = a[: lines or None], b[: lines or None]
    elif len(records) > steps:
        a = [line for line in a if line.end <= records[steps - 1]["out"]]
        b = b[: len(a)]
    for number, (x, y) in enumerate(zip(a, b), 1):
        step = sum(record["out"] < x.end for record in records) if records else number
        if x.text != y.text:
            return (step, f"printed line {number}: {_shown(x)!r} under torch, {_shown(y)!r} under Rushlight"), compared
        for p, q in zip(x.numbers, y.numbers):
            compared += 1
            if printed_digits(p, q) < enough:
                return (step, f"printed line {number}, {x.text[:60]!r}: {p} under torch, {q} under Rushlight"), compared
    if len(a) != len(b):
        return (len(records), f"{len(a)} printed lines under torch, {len(b)} under Rushlight"), compared
    return None, compared


def _shown(line):
    parts = iter(line.numbers)
    return re.sub("#", lambda _: next(parts, "#"), line.text)[:80]
