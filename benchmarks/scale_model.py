"""All-reduce by latency and bandwidth: the model of docs/scale.md, its fit to measured times, and the step times that follow.

A message of m bytes takes alpha + m beta seconds. What was measured is in scale_numbers.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .scale_link_worker import SIZES, group_size

NUMBERS = Path(__file__).with_name("scale_numbers.json")
HOSTS, GBITS = (8, 64, 1000), (1, 10, 100)
_EACH = 16  # steps between two averages of the parameters
_FORWARD = 1 / 3  # of a step's computing; the rest can go on while gradients travel
_FIRST, _BUCKET = 1 << 20, 25 << 20  # bytes of DistributedDataParallel's buckets

# Each is linear in alpha and beta: {algorithm: (hosts, bytes) -> (messages one after the other, bytes one after the other)}
ALGORITHMS: dict[str, Callable[[int, float], tuple[float, float]]] = {}


def _algorithm(name: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        ALGORITHMS[name] = function
        return function

    return register


@_algorithm("ring")
def _ring(n: int, m: float) -> tuple[float, float]:
    return 2 * (n - 1), 2 * (n - 1) * m / n


@_algorithm("tree")
def _tree(n: int, m: float) -> tuple[float, float]:
    depth = 2 * math.ceil(math.log2(n))
    return depth, depth * m


@_algorithm("hierarchical")
def _hierarchical(n: int, m: float) -> tuple[float, float]:
    g = group_size(n)
    messages, size = _ring(n // g, m / g)
    return 2 * (g - 1) + messages, 2 * (g - 1) * m / g + size


def fit(measured: dict[str, dict[str, float]]) -> tuple[float, float]:
    """(alpha, beta), both positive, with the least sum of squares of log(model / measured): found by halving steps."""
    rows = [(*ALGORITHMS[name](n, m), seconds) for n, name, m, seconds in _measured(measured)]

    def off(alpha: float, beta: float) -> float:
        return sum(math.log((a * alpha + b * beta) / seconds) ** 2 for a, b, seconds in rows)

    alpha, beta, factor = 1e-4, 1e-7, 4.0
    while factor > 1.0001:
        near = [(alpha * x, beta * y) for x in (1 / factor, 1, factor) for y in (1 / factor, 1, factor)]
        best = min(near, key=lambda pair: off(*pair))
        if best == (alpha, beta):
            factor = math.sqrt(factor)
        alpha, beta = best
    return alpha, beta


def _measured(measured: dict[str, dict[str, float]]) -> Iterator[tuple[int, str, int, float]]:
    """(hosts, algorithm, bytes, seconds) of each measure"""
    for n, values in measured.items():
        for name in ALGORITHMS:
            for m in SIZES:
                yield int(n), name, m, values[f"{name} {m}"]


def fit_table(numbers: dict[str, Any]) -> list[str]:
    """Measured times, and by how much the model is off."""
    alpha, beta = fit(numbers["measured"])
    rate = numbers["mbit"] / 8
    lines = [
        f"alpha = {alpha * 1e6:.0f} us, 1 / beta = {1 / beta / 1e6:.2f} MB/s ({1e-6 / beta / rate:.0%} of "
        f"the link's {rate:.1f} MB/s).",
        "",
        "| all-reduce | bytes | " + " | ".join(f"{n} hosts, ms" for n in numbers["measured"]) + " |",
        "|---|---|" + "---|" * len(numbers["measured"]),
    ]
    for name in (*ALGORITHMS, "MPI's own"):
        for m in SIZES:
            cells = []
            for n, values in numbers["measured"].items():
                seconds = values[f"{name} {m}"]
                cell = _short(seconds * 1e3)
                if name in ALGORITHMS:
                    a, b = ALGORITHMS[name](int(n), m)
                    cell += f" ({(a * alpha + b * beta) / seconds - 1:+.0%})"
                cells.append(cell)
            lines.append(f"| {name} | {_size(m)} | " + " | ".join(cells) + " |")
    return lines


def error(numbers: dict[str, Any]) -> float:
    """The mean relative error of the model where a message takes longer to send than to begin."""
    alpha, beta = fit(numbers["measured"])
    errors = []
    for n, name, m, seconds in _measured(numbers["measured"]):
        a, b = ALGORITHMS[name](n, m)
        if b * beta > a * alpha:
            errors.append(abs((a * alpha + b * beta) / seconds - 1))
    return sum(errors) / len(errors)


# ---------------------------------------------------------------------------------------------- steps


def step(numbers: dict[str, Any], network: str, n: int, gbit: float, way: str) -> tuple[float, str]:
    """(seconds of a training step on n hosts, what limits it)"""
    about = numbers["networks"][network]
    alpha, fitted = fit(numbers["measured"])
    beta = fitted * numbers["mbit"] / (gbit * 1e3)  # the same part of the link's rate
    compute, parameters = about["step_s"], about["parameters"]
    extra = numbers["hooks"].get(way, 0.0) * parameters
    size = {"bf16": 2 * parameters, "PowerSGD": 4 * about["powersgd"]}.get(way, 4 * parameters)
    if way == "averaging":
        sent, waits = _exchange(n, size, alpha, beta)
        return compute + sent / _EACH, _limit(compute, sent / _EACH, waits)
    share = size / (4 * parameters)
    buckets = [bytes_ * share for bytes_ in _buckets(4 * parameters)]
    times = [_exchange(n, bucket, alpha, beta) for bucket in buckets]
    rounds = 2 if way == "PowerSGD" else 1  # P, then Q
    times = [(seconds + (rounds - 1) * _exchange(n, 0, alpha, beta)[0], waits) for seconds, waits in times]
    sent = sum(seconds for seconds, _ in times)
    total = compute * _FORWARD + max(compute * (1 - _FORWARD), sent - times[-1][0]) + times[-1][0] + extra
    return total, _limit(compute + extra, sent, times[-1][1])


def _buckets(size: float) -> list[float]:
    first, rest = min(size, _FIRST), max(0.0, size - _FIRST)
    return [first, *([_BUCKET] * int(rest // _BUCKET)), *([rest % _BUCKET] if rest % _BUCKET else [])]


def _exchange(n: int, m: float, alpha: float, beta: float) -> tuple[float, bool]:
    """(seconds of the fastest algorithm, whether beginning messages takes most of it)"""
    best = min((a * alpha + b * beta, a * alpha) for a, b in (function(n, m) for function in ALGORITHMS.values()))
    return best[0], 2 * best[1] > best[0]


def _limit(compute: float, sent: float, waits: bool) -> str:
    if sent < compute / 4:
        return "computing"
    return "latency" if waits else "bandwidth"


def step_table(numbers: dict[str, Any], network: str) -> list[str]:
    """Step times of a network: a row for each number of hosts and speed of the links."""
    ways = {"float32": "float32", "bf16": "bf16", "PowerSGD": "PowerSGD", "averaging": f"every {_EACH} steps"}
    lines = ["| hosts | Gbit/s | " + " | ".join(ways.values()) + " |", "|---|---|" + "---|" * len(ways)]
    for n in HOSTS:
        for gbit in GBITS:
            cells = []
            for way in ways:
                seconds, limit = step(numbers, network, n, gbit, way)
                cells.append(f"{_short(seconds * 1e3)}, {limit}")
            lines.append(f"| {n} | {gbit} | " + " | ".join(cells) + " |")
    return lines


def _size(bytes_: int) -> str:
    return f"{bytes_ >> 10} KiB" if bytes_ >> 10 else f"{bytes_} B"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def tables(numbers: dict[str, Any]) -> str:
    """The tables of docs/scale.md."""
    parts = [f"Measured on {numbers['date']}: {numbers['machine']}.", "", *fit_table(numbers)]
    for network, about in numbers["networks"].items():
        head = f"**{network}**: {about['parameters']:,} parameters, {about['step_s'] * 1e3:.3g} ms alone. Milliseconds a step:"
        parts += ["", head, "", *step_table(numbers, network)]
    return "\n".join(parts)


def load() -> dict[str, Any]:
    """What was measured."""
    return json.loads(NUMBERS.read_text())
