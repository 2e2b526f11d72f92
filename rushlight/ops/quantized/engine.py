"""Which of torch's engines is followed where they round differently: `torch.backends.quantized.engine`."""

SUPPORTED = ["qnnpack", "onednn", "x86", "fbgemm"]
_engine = "x86"


def current() -> str:
    """The engine in use."""
    return _engine


def choose(name: str) -> None:
    """Use an engine from now on.

    Raises:
        RuntimeError: there is no such engine, as in `choose("cuda")`.
    """
    global _engine
    if name not in SUPPORTED:
        raise RuntimeError(f"{name} is not a valid value for quantized engine")
    _engine = name
