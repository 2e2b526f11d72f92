"""Differences that stay, with their reasons: (theme, pattern of the statement, pattern of what differs, reason)."""

KNOWN: list[tuple[str, str, str, str]] = [
    (
        "",
        "topk|kthvalue|mode|sort",
        r"^value: .*\[1\]",
        "among equal integers another index is chosen (libstdc++'s selection)",
    ),
    ("", "isin", "^accepts.*view size is not compatible", "torch's isin refuses tensors that are not contiguous"),
    ("", r"fft\.", "^accepts.*MKL FFT error", "MKL refuses some strides"),
]
