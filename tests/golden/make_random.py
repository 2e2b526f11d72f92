"""Make random.npz: sequences of draws on one generator each, with torch's values and torch's final state.

Run with an interpreter that has torch 2.13: `python tests/golden/make_random.py`. In the file, `cases` is a JSON list
of [seed, [[op, shape, dtype, arguments], ...]]; `values` holds the bytes of all draws, one after the other, `lengths`
how many each has; `digests` the SHA-256 of each generator's state after its draws. `states` are two pairs of whole
states, before and after the last draw of the last two sequences of nine draws.
"""

import json
import sys
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTS = ["uint8", "int8", "int16", "int32", "int64"]
SIZES = [[], [0], [1], [7], [15], [16], [17], [3, 7], [32], [5, 9]]


def ramp(low, high, shape, dtype):
    """An argument by element, evenly spaced."""
    n = int(np.prod(shape))
    return torch.from_numpy(low + (high - low) * np.arange(n) / max(n - 1, 1)).reshape(shape).to(dtype)


def draw(op, shape, dtype, args, g):
    """One draw of torch."""
    dtype = getattr(torch, dtype)
    if op == "normal_strided":
        base = torch.empty(*shape[:-1], 2 * shape[-1], dtype=dtype)
        return base[..., ::2].normal_(args["mean"], args["std"], generator=g)
    if op == "store":  # in place into a permuted tensor, whose memory order torch follows
        order = args["order"]
        out = torch.empty([shape[i] for i in order], dtype=dtype).permute(list(np.argsort(order)))
        return out.uniform_(generator=g)
    if op in ("uniform", "exponential", "cauchy", "log_normal", "geometric", "normal", "bernoulli"):
        return getattr(torch.empty(shape, dtype=dtype), op + "_")(*args.values(), generator=g)
    if op == "random_":
        return torch.empty(shape, dtype=dtype).random_(*args.values(), generator=g)
    if op == "randint":
        return torch.randint(args["low"], args["high"], shape, dtype=dtype, generator=g)
    if op == "randperm":
        return torch.randperm(shape[0], dtype=dtype, generator=g)
    if op == "bernoulli_of":
        p = ramp(0, 1, shape, getattr(torch, args["p"]))
        return torch.empty(shape, dtype=dtype).bernoulli_(p, generator=g)
    if op == "normal_of":
        mean = ramp(-3, 2, shape, dtype) if args["mean"] is None else args["mean"]
        std = ramp(0, 2, shape, dtype) if args["std"] is None else args["std"]
        return torch.normal(mean, std, generator=g)
    if op == "multinomial":
        return torch.multinomial(ramp(*args["ramp"], shape, dtype), args["n"], args["replacement"], generator=g)
    if op == "poisson":
        return torch.poisson(ramp(*args["ramp"], shape, dtype), generator=g)
    if op == "binomial":
        return torch.binomial(ramp(*args["n"], shape, dtype).floor(), ramp(*args["p"], shape, dtype), generator=g)
    if op == "standard_gamma":
        return torch._standard_gamma(ramp(*args["ramp"], shape, dtype), generator=g)
    if op == "dirichlet":
        return torch._sample_dirichlet(ramp(*args["ramp"], shape, dtype), generator=g)
    raise ValueError(op)


def dropout(op, shape, dtype, args):
    """A dropout's output for an input of ones and twos; it draws from the default generator."""
    x = (1 + torch.arange(int(np.prod(shape))) % 2).reshape(shape).to(getattr(torch, dtype))
    if op == "dropout_permuted":
        return torch.nn.functional.dropout(x.transpose(0, 1), args["p"], True)
    return getattr(torch.nn.functional, op)(x, args["p"], True)


def each_type_and_size():
    """Every distribution in every type over the size paths."""
    for dtype in [*FLOATS, "complex64", "complex128"]:
        yield [["uniform", s, dtype, {}] for s in SIZES]
        yield [["normal", s, dtype, {"mean": 0.0, "std": 1.0}] for s in SIZES]
    for dtype in FLOATS:
        yield [["uniform", s, dtype, {"low": -0.3, "high": 0.77}] for s in SIZES]
        yield [["normal", s, dtype, {"mean": 0.7, "std": 1.3}] for s in SIZES]
        yield [["normal_strided", s, dtype, {"mean": 0.7, "std": 1.3}] for s in SIZES[2:]]
        yield [["exponential", s, dtype, {"lambd": 0.7}] for s in SIZES]
        yield [["cauchy", s, dtype, {"median": 0.2, "sigma": 1.7}] for s in SIZES]
        yield [["log_normal", s, dtype, {"mean": 0.2, "std": 0.9}] for s in SIZES]
        yield [["normal_of", [n], dtype, a] for n in (5, 19) for a in NORMAL_ARGUMENTS]
        yield [["poisson", [37], dtype, {"ramp": r}] for r in ([0, 3], [5, 12], [30, 200])]
        yield [["multinomial", s, dtype, {"ramp": [0.1, 4], "n": n, "replacement": r}] for s, n, r in MULTINOMIAL]
        for p in FLOATS:
            yield [["bernoulli_of", s, dtype, {"p": p}] for s in SIZES]
    for dtype in ["float32", "float64"]:
        yield [["binomial", [37], dtype, {"n": n, "p": p}] for n in ([0, 9], [30, 300]) for p in ([0, 0.6], [0.4, 1])]
        yield [["standard_gamma", [25], dtype, {"ramp": r}] for r in ([0, 1.5], [2, 40])]
        yield [["dirichlet", [4, 6], dtype, {"ramp": [0.3, 4]}]]
    for dtype in [*FLOATS, *INTS, "bool"]:
        yield [["random_", s, dtype, {}] for s in SIZES]
        yield [["bernoulli", s, dtype, {"p": p}] for s in SIZES for p in (0.0, 0.3, 1.0)]
    for dtype in [*FLOATS, *INTS]:
        yield [["geometric", s, dtype, {"p": 0.23}] for s in SIZES]
        yield [["randint", s, dtype, {"low": 3, "high": 100}] for s in SIZES]
        yield [["randperm", [n], dtype, {}] for n in (0, 1, 2, 17, 100)]


NORMAL_ARGUMENTS = [{"mean": None, "std": None}, {"mean": None, "std": 1.5}, {"mean": 0.5, "std": None}]
MULTINOMIAL = [([9], 5, False), ([9], 5, True), ([9], 1, False), ([9], 1, True), ([4, 9], 3, False), ([4, 9], 7, True)]
WIDE = [
    [-7, 2**28 - 8], [-7, 2**28 - 7], [0, 2**31], [0, 2**32], [-5, 2**40], [0, 2**63 - 1], [-(2**63), 2**63 - 1],
    [2**40, None], [-(2**63), None],
]  # fmt: skip


def mixtures():
    """Sequences in which the cached normal value, both word widths and several refills meet."""
    yield [["randint", [9], "int64", {"low": low, "high": high}] for low, high in WIDE[:7]]
    yield [["random_", [9], "int64", {"low": low, "high": high}] for low, high in WIDE]
    yield [["random_", [9], t, {"low": -(2**63), "high": None}] for t in ("float32", "float64", "bfloat16")]
    yield [["random_", [9], t, {"low": 5, "high": None}] for t in [*FLOATS, *INTS]]
    yield [["random_", [9], t, {"low": 0, "high": 2**28 + 3}] for t in ("float32", "float64", "int32", "uint32")]
    yield [
        ["random_", [9], "float16", {"low": 0, "high": 65504}],
        ["random_", [9], "bfloat16", {"low": -999, "high": 999}],
    ]
    yield [["store", [4, 3, 5], "float32", {"order": order}] for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2], [2, 1, 0])]
    for first in (["normal", [1], "float32"], ["log_normal", [3], "float64"], ["standard_gamma", [1], "float32"]):
        arguments = {"ramp": [3, 3]} if first[0] == "standard_gamma" else {"mean": 0.5, "std": 2.0}
        yield [
            [*first, arguments],
            ["uniform", [5], "float32", {}],
            ["normal", [20], "float64", {"mean": 0.0, "std": 1.0}],
            ["normal", [2], "float16", {"mean": 1.0, "std": 3.0}],
            ["bernoulli", [700], "bool", {"p": 0.4}],
            ["normal_strided", [17], "float64", {"mean": 1.0, "std": 3.0}],
            ["random_", [], "int64", {}],
            ["randperm", [700], "int64", {}],
            ["normal", [5], "float64", {"mean": 0.0, "std": 1.0}],
        ]


DROPOUTS = [
    [op, shape, dtype, {"p": p}]
    for dtype in FLOATS
    for p in (0.0, 0.1, 0.5, 1.0)
    for op, shape in (
        ("dropout", [3, 7]), ("dropout_permuted", [4, 5]), ("dropout1d", [4, 5, 3]), ("dropout2d", [2, 3, 2, 2]),
        ("alpha_dropout", [3, 7]), ("feature_alpha_dropout", [4, 5, 3]),
    )
]  # fmt: skip


def sequences():
    """All cases."""
    yield from each_type_and_size()
    yield from mixtures()
    yield DROPOUTS


def bytes_of(tensor):
    """A tensor's elements in C order."""
    return tensor.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).numpy()


def record(path, seeds):
    """Write every sequence for each seed."""
    cases, values, digests, states = [], [], [], []
    for seed in seeds:
        for draws in sequences():
            g = torch.default_generator if draws is DROPOUTS else torch.Generator()
            g.manual_seed(seed)
            for op, shape, dtype, args in draws:
                before = g.get_state().numpy()
                out = dropout(op, shape, dtype, args) if draws is DROPOUTS else draw(op, shape, dtype, args, g)
                values.append(bytes_of(out))
            after = g.get_state().numpy()
            digests.append(sha256(after.tobytes()).hexdigest())
            cases.append([seed, draws])
            if len(draws) == 9:  # the mixtures: states to continue from
                states += [before, after]
    np.savez_compressed(
        path,
        cases=np.array(json.dumps(cases)),
        values=np.concatenate(values),
        lengths=np.array([v.size for v in values]),
        digests=np.array(digests),
        states=np.stack(states[-4:]),
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("random.npz")
    record(target, [int(s) for s in sys.argv[2:]] or [11])
