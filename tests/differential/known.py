"""Differences that stay, with their reasons: (theme, pattern of the statement, pattern of what differs, reason)."""

KNOWN: list[tuple[str, str, str, str]] = [
    (
        "",
        "topk|kthvalue|mode|sort",
        r"^value: .*\[1\]",
        "among equal integers another index is chosen (libstdc++'s selection)",
    ),
    ("", r"topk\(.*False\)$", "^value: ", "the order of what is not sorted (libstdc++'s selection)"),
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
]
