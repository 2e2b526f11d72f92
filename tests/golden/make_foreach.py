"""Writes foreach.json: what torch's _foreach functions give for lists of two tensors. Run where torch is installed."""

import json
from pathlib import Path

import torch

FIRST, SECOND, THIRD = [[0.75, 0.5], [0.25]], [[0.5, 2.0], [1.5]], [[1.0, 0.25], [3.0]]
UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "max", "neg", "norm", "powsum", "reciprocal", "round", "rsqrt", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "zero_", "clone",
]  # fmt: skip
BINARY = ["add", "clamp_max", "clamp_min", "div", "maximum", "minimum", "mul", "pow", "sub"]


def calls():
    """(function, arguments behind the first list): lists of lists stand for tensors."""
    yield from ((name, []) for name in UNARY)
    for name in BINARY:
        for other in (SECOND, 2.0, [2.0, 3.0]):
            yield name, [other]
            yield name + "_", [other]
    for name in ("addcmul", "addcdiv"):
        for value in (0.5, [0.5, 2.0]):
            yield name, [SECOND, THIRD, value]
            yield name + "_", [SECOND, THIRD, value]
    for weight in (0.25, [0.25, 0.5], THIRD):
        yield "lerp", [SECOND, weight]
        yield "lerp_", [SECOND, weight]
    yield "norm", [1.0]
    yield "copy_", [SECOND]


def tensors(value):
    is_nested = isinstance(value, list) and isinstance(value[0], list)
    return [torch.tensor(part) for part in value] if is_nested else value


def main():
    rows = []
    for name, arguments in calls():
        result = getattr(torch, "_foreach_" + name)(tensors(FIRST), *map(tensors, arguments))
        rows.append([name, arguments, [t.tolist() for t in result]])
    path = Path(__file__).with_name("foreach.json")
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
