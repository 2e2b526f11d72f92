"""Differences that stay, with their reasons: (theme, pattern of the statement, pattern of what differs, reason)."""

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
        "results of one transform within another lie in memory in the inner one's order",
    ),
    (
        "",
        r"jac(rev|fwd)\(torch.func.jac",
        "^stride: ",
        "results of one transform within another lie in memory in the inner one's order",
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
    ("", r"copy_\(x.conj", "^accepts.*single memory location", "a copy onto the conjugate of itself is well defined"),
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
]
