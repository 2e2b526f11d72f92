"""Modules that lay elsewhere once, for pickles and programs that name them; their public names never changed."""

MOVED = {
    "absent_device": "torch._no_device",
    "cli.environment": "torch.utils.collect_env",
    "compat.version": "torch.version",
    "compat.vision_version": "vision.version",
    "foreach": "ops.foreach",
    "future": "torch._C",
    "later": "torch._lazy",
    "operator_schema": "torch._schema",
    "removed": "torch._removed",
    "settings": "torch._settings",
    "symbolic": "torch._sym",
    "trace_check": "torch._trace_check",
    "utils._clamped": "utils.archives",
}


def new_name(name: str) -> str:
    """Today's full name of a module, by the longest beginning of it that `MOVED` has."""
    root, _, path = name.partition(".")
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        if (start := ".".join(parts[:length])) in MOVED:
            return ".".join([root, MOVED[start], *parts[length:]])
    return name
