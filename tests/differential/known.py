"""Differences that stay, with their reasons; `python -m tests.differential --list` writes docs/differences.md from them.

KNOWN, for the tester: (theme, pattern of the statement, pattern of what differs, reason). KEPT, by hand: (a program, what
torch 2.13 gives, what Rushlight gives, reason); `test_known.py` runs the programs.
"""

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
KNOWN: list[tuple[str, str, str, str]] = [
    (
        "",
        "quantile|grad",
        r"^value: \[\d\] 0\.5 at .*torch 0\.0$",
        "among equal elements another gets the gradient of a quantile",
    ),
    (
        "",
        r"vmap\(.*> 0\]",
        "^accepts.*dynamic shape",
        "a mask in vmap works where it takes as many elements of each example",
    ),
    ("", "isin", "^accepts.*view size is not compatible", "torch's isin refuses tensors that are not contiguous"),
    ("", r"fft\.", "^accepts.*MKL FFT error", "MKL refuses some strides"),
    (
        "",
        r"vmap\((jac|grad)",
        "^stride: ",
        "results of one transform within another have the inner one's order in memory",
    ),
    (
        "",
        r"jac(rev|fwd)\(torch.func.jac",
        "^stride: ",
        "results of one transform within another have the inner one's order in memory",
    ),
    (
        "module-transforms",
        "",
        "^accepts.*attempted to call in-place",
        "running statistics are written within a transform, which torch refuses",
    ),
    ("", "kron", "^accepts.*view size is not compatible", "torch's kron refuses some strides"),
    (
        "func",
        r"torch.func.vmap\(",
        "^accepts.*need to be at least 1D",
        "torch's vmap refuses products of single numbers",
    ),
    ("", r"copy_\([xy]", "^accepts.*single memory location", "a copy onto the conjugate of itself is well defined"),
    ("pruned", r"clip_grad", "^accepts.*nested_tensorlist", "no gradient is nothing to clip"),
    (
        "",
        r"squeeze\(None\)",
        "^accepts.*invalid combination",
        "squeeze(None) is squeeze()",
    ),
    (
        "results-into",
        r"torch\.(min|max|cummax|cummin)\(",
        "^accepts.*not resizable",
        "torch resizes the tensors of `out` where they have the right size",
    ),
    (
        "",
        "jacrev.*jacrev|grad",
        "^accepts.*ZeroTensor",
        "torch's second derivatives of a constant are tensors without memory, which NumPy cannot read",
    ),
    (
        "",
        "torch.func.grad",
        r"^value:  0.0 .*torch nan$",
        "nan times a mask's 0, which torch multiplies within transforms only",
    ),
    (
        "",
        r"logsumexp\(.*dim=\(\)",
        "^accepts.*doesn't match the broadcast shape",
        "torch's logsumexp over no dimensions fails on its own buffer",
    ),
    (
        "results-into",
        r"torch\.sort\(",
        "^accepts.*not resizable",
        "torch resizes the tensors of `out` where they have the right size",
    ),
    (
        "functional",
        r"autograd\.grad",
        r"^value: \[\d\] -?[\d.]+e-0[678] at .*; torch -?[\d.]+e-0[678]$",
        "the gradient of the mean of squared normalized values is 0 but for rounding",
    ),
    (
        "",
        r"std|var|grad|jvp|linearize",
        r"^value: ( |\[\d\] )-?(0\.0|[\d.]+e-(0[7-9]|[1-9]\d)) at .*; torch -?(0\.0|[\d.]+e-(0[7-9]|[1-9]\d))$",
        "a number that is 0 but for rounding: deviations of equal numbers, gradients that cancel",
    ),
    ("", "func.hessian", "^stride: ", "results of one transform within another have the inner one's order in memory"),
    ("", "grad", "^accepts.*unique_dim", "`unique` along a dimension has a gradient"),
    (
        "odd-options",
        r"opt\.step",
        "^raises: NotImplementedError.*given twice",
        "one parameter given twice to an optimizer over lists raises where torch's result is no update of any formula",
    ),
    ("", "", "^accepts.*_dynamo", "torch's func.jacrev fails where torch._dynamo is half imported"),
]

KEPT: list[tuple[str, str, str, str]] = [
    (
        "F.gelu(torch.full((8,), inf))[0].item()",
        "nan",
        "inf",
        "oneDNN, by which torch computes two elements and more; of one element it gives inf as well",
    ),
    (
        "grad(F.elu, leaf(*[nan] * 16))[0].item()",
        "1.0",
        "nan",
        "torch answers by the place of an element in its vectors; so do celu, selu and hardswish, of 64 to 127 bytes",
    ),
    (
        "second(lambda x: x.logcumsumexp(0) ** 2, leaf(0.0, 1.0, dtype=torch.float64)).tolist()",
        "[0.5378828427399903, 1.4621171572600098]",
        "[2.5378828427399904, 1.4621171572600098]",
        "torch's second derivative is wrong where an incoming gradient is 0; finite differences give Rushlight's",
    ),
    (
        "round(torch.special.bessel_j1(torch.tensor(5.7, dtype=torch.float64)).item(), 9)",
        "-0.324147629",
        "-0.32414768",
        "torch's J, Y and Ai are off by up to 3e-6 in float64, Rushlight's by 1e-13",
    ),
    (
        "second(F.mish, leaf(100.0)).item()",
        "nan",
        "0.0",
        "torch's formula overflows; so for erf, erfc, asinh and atanh of 3e38",
    ),
    (
        "second(F.hardsigmoid, leaf(1.0)).item()",
        "RuntimeError",
        "0.0",
        "the second derivative is 0; torch has none",
    ),
    (
        "second(lambda x: torch.cdist(x[None], x[None] * 2), leaf(1.0, 2.0)).shape",
        "NotImplementedError",
        "torch.Size([2])",
        "a second derivative that torch does not have",
    ),
    (
        "second(lambda x: F.multi_margin_loss(x, torch.tensor(0)), leaf(0.1, 0.2))",
        "RuntimeError",
        "RuntimeError",
        "the first gradient does not require grad, so that the error has other words; so for multilabel_margin_loss",
    ),
    (
        "round(grad(torch.special.i1, leaf(1.0, dtype=torch.float16)).item(), 2)",
        "NotImplementedError",
        "0.7",
        "16-bit gradients of i1 and i1e, and second ones of i0 and i0e",
    ),
    (
        "torch.pinverse(torch.tensor([[1.0, 2.0], [0.5, 1.0]]))[0, 0].item() > 0",
        "False",
        "True",
        "of a singular matrix torch gives -3e7 here and Rushlight 0.16: the bound is 1e-15, below what float32 resolves",
    ),
    (
        "type(torch.eye(2).to_sparse()).__name__",
        "'Tensor'",
        "'SparseTensor'",
        "sparse tensors have classes of their own",
    ),
    ("(lambda x: hash(x) == id(x))(torch.ones(1))", "True", "False", "Python's own hash of an object"),
    (
        "len(kept(lambda x: F.layer_norm(x, (2,)), leaf(1.0, 2.0)))",
        "3",
        "1",
        "statistics that layer_norm and group_norm keep for backward do not go through `saved_tensors_hooks`",
    ),
    (
        "kept(lambda x: F.linear(x, torch.ones(3, 2)), leaf(1.0, 2.0).reshape(1, 2))[-1]",
        "(2, 3)",
        "(3, 2)",
        "a linear layer keeps its weight, torch the weight transposed; its node is one, torch's may be three",
    ),
    (
        "asked('F.batch_norm(x, None, None, training=True)')",
        "'empty native_batch_norm'",
        "'native_batch_norm'",
        "a mode sees no `empty` for a reserve that only CUDA fills",
    ),
    (
        "asked('x.sigmoid()')",
        "'sigmoid detach'",
        "'sigmoid'",
        "results that are kept for backward are kept as they are: a mode is not asked to `detach` them",
    ),
    (
        "asked('F.dropout(x)')",
        "'empty_like bernoulli_ div_ mul'",
        "'_rushlight__dropout_mask mul'",
        "one operator of ours that torch has in several, or in one of other arguments: a mode sees it by our name; so for "
        "recurrent layers, attention and half of the backward formulas",
    ),
]


def page() -> str:
    """The text of docs/differences.md."""
    rows = [f"| `{program}` | `{torch}` | `{ours}` | {reason} |" for program, torch, ours, reason in KEPT]
    reasons = sorted({(reason, theme or "all") for theme, _, _, reason in KNOWN})
    themes: dict[str, list[str]] = {}
    for reason, theme in reasons:
        themes.setdefault(reason, []).append(theme)
    listed = [f"- {reason} ({', '.join(names)})" for reason, names in themes.items()]
    return "\n".join([_HEAD, *rows, _MIDDLE, *listed, ""])


_HEAD = """# Differences from torch that stay

Written by `python -m tests.differential --list`; tests run the programs of the first table and say when this page is out of
date. In them `leaf` makes a tensor that requires grad, `grad` and `second` give the first and second derivative, `kept` the
sizes of what `saved_tensors_hooks` get. [Coming from torch](coming-from-torch.md) has what concerns every program.

| program | torch 2.13 | Rushlight | why |
|---|---|---|---|"""
_MIDDLE = """
## What the differential tester expects

`python -m tests.differential` runs random programs under torch and under Rushlight and counts each statement whose value,
dtype, shape, strides or `requires_grad` differ. These it counts by themselves (in brackets: the themes of programs):
"""
