"""Cases whose results under torch are in tests/golden/rest.npz and rest.json; `T` is torch or Rushlight."""

import random
import re

import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
TYPES = {
    "linspace": (*FLOATS, "int64", "int32", "uint8", "complex64", "complex128"),
    "logspace": (*FLOATS, "int64"),
    "arange": (*FLOATS, "int64", "int32"),
}
_ENDS = [(0.0, 1.0), (1.0, 0.0), (-3, 7), (0.1, 0.7), (-2.34, 9.1), (5, 5), (-1e-3, 1e3), (2.5, -2.5)]
_STEPS = (0, 1, 2, 3, 10, 50, 101)


def _whole(kind, values):
    return [abs(int(v)) % 250 if "int" in kind else v for v in values]


def spacing(T):
    """{name: all numbers of one function and type, one after the other}."""
    rng, found = random.Random(5), {}
    ends = _ENDS + [(rng.uniform(-3, 3), rng.uniform(-3, 3)) for _ in range(5)]
    for function, kinds in TYPES.items():
        for kind in kinds:
            dtype = getattr(T, kind)
            results = []
            for start, end in ends:
                a, b = _whole(kind, (start, end))
                for n in _STEPS if function != "arange" else (0.1, 0.25, 0.013, 1, 3):
                    if function == "linspace":
                        ab = (complex(a, b), complex(b, -a)) if "complex" in kind else (a, b)
                        results.append(T.linspace(*ab, n, dtype=dtype))
                    elif function == "logspace":
                        results.append(T.logspace(a % 4 - 2 * ("int" not in kind), b % 4, n, dtype=dtype))
                    else:
                        step = max(1, int(n)) if "int" in kind else n
                        results.append(T.arange(a, a + 57.3 * step, step, dtype=dtype))
            whole = T.cat(results)
            found[f"{function} {kind}"] = (whole.float() if kind == "bfloat16" else whole).numpy()
    return found


LAYERS = [
    ("AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], head_bias=True)", (7, 16), 20),
    ("AdaptiveLogSoftmaxWithLoss(6, 9, [2, 5, 7], div_value=1.5)", (5, 6), 9),
    ("AdaptiveLogSoftmaxWithLoss(6, 9, [8])", (1, 6), 3),
    ("AdaptiveLogSoftmaxWithLoss(6, 9, [3])", (6,), 9),
    ("CrossMapLRN2d(3, 0.5)", (2, 7, 3, 2), 0),
    ("CrossMapLRN2d(4, 0.5, 0.6, 2)", (2, 5, 3, 2), 0),
    ("CrossMapLRN2d(5)", (1, 3, 3, 2), 0),
    ("FractionalMaxPool2d(2, output_size=3)", (2, 3, 7, 6), 0),
    ("FractionalMaxPool2d((2, 3), output_ratio=(0.5, 0.6))", (2, 9, 8), 0),
    ("FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)", (1, 2, 6, 6), 0),
    ("FractionalMaxPool3d(2, output_size=(2, 3, 4))", (2, 2, 6, 7, 8), 0),
    ("FractionalMaxPool3d(2, output_ratio=0.5)", (2, 5, 6, 6), 0),
]


def layer(T, source, shape, classes):
    """Results, gradients and parameters of one layer."""
    rng = np.random.default_rng(len(source))
    x = T.from_numpy(rng.standard_normal(shape).astype(np.float32)).requires_grad_()
    T.manual_seed(3)
    module = eval("nn." + source, {"nn": T.nn})
    if classes:
        target = T.from_numpy(rng.integers(0, classes, shape[:-1]))
        output, loss = module(x, target)
        (loss + (output * output).sum()).backward()
        results = [output, loss]
        if len(shape) > 1:
            results += [module.log_prob(x), module.predict(x)]
    else:
        results = module(x)
        results = list(results) if isinstance(results, tuple) else [results]
        weights = T.from_numpy(rng.standard_normal(tuple(results[0].shape)).astype(np.float32))
        (results[0] * weights).sum().backward()
    parameters = list(module.parameters())
    return [t.detach().numpy() for t in (*results, x.grad, *parameters, *(p.grad for p in parameters)) if t is not None]


def tables(benchmark):
    """What measurements and their comparison print."""
    rng = random.Random(1)

    def measured(n, base_s, stmt="a + b", spread=0.03, setup="pass", **labels):
        times = [base_s * 100 * rng.uniform(1 - spread, 1 + spread) for _ in range(n)]
        return benchmark.Measurement(100, times, benchmark.TaskSpec(stmt, setup, **labels))

    results = [
        measured(9, 1.234e-6, label="add", sub_label="float", description="n=1"),
        measured(9, 44e-6, label="add", sub_label="float", description="n=64"),
        measured(1, 8e-6, label="add", sub_label="int", description="n=1"),
        measured(5, 3e-6, label="add", sub_label="int", description="n=64", num_threads=2),
        measured(9, 9e-6, label="add", sub_label="noisy", description="n=1", spread=0.9),
        measured(7, 3e-3, "x = 1\ny = 2", setup="z = 1\nw = 2", description="q"),
        measured(12, 2.5, "f(x)", setup="z = 1", label="other", sub_label="s", description="d"),
        measured(5, 1e-3, label="env", description="d", env="base"),
        measured(5, 2e-3, label="env", description="d", env="branch"),
    ]
    texts = [re.sub("<.*>", "<>", repr(m)) for m in results]
    texts += [[m.significant_figures, m.has_warnings, m.title, m.as_row_name] for m in results]
    for changes in ((), ("trim_significant_figures",), ("highlight_warnings",), ("colorize",)):
        compare = benchmark.Compare(results)
        for change in changes:
            getattr(compare, change)()
        texts.append(str(compare))
    rows = benchmark.Compare(results)
    rows.colorize(rowwise=True)
    texts.append(str(rows))
    texts += [benchmark.select_unit(t) for t in (1e-9, 3e-7, 1e-6, 0.02, 1, 60.0)]
    texts += [benchmark.trim_sigfig(x, n) for x, n in ((3.14159, 2), (1234.5, 3), (0.00719, 1))]
    return texts
