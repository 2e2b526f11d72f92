"""`torch.utils.collect_env`, and the command `rushlight env`: what is installed, as text for a bug report."""

import os

from ...backend import isa

__all__ = ["get_pretty_env_info", "main", "print_environment", "version"]

_LIBRARIES = {
    "numpy": "arrays",
    "ml_dtypes": "bfloat16 and other small types",
    "tqdm": "progress bars",
    "pillow": "images",
    "safetensors": "model files",
    "onednn-cpu-gomp": "fast convolutions, max pooling and matrix products",
    "llvmlite": "native code for whole steps",
    "matplotlib": "the pictures in the examples",
}


def print_environment():
    """Versions of Rushlight, Python and the libraries that Rushlight uses where they are present."""
    import platform

    rows = [
        ("rushlight", version("rushlight") or "from source"),
        ("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("platform", platform.platform()),
        ("cpus", str(os.cpu_count())),
        ("instruction set", _instruction_set()),
    ]
    rows += [(name, version(name) or f"not installed ({purpose})") for name, purpose in _LIBRARIES.items()]
    for name, value in rows:
        print(f"{name:16} {value}")


def _instruction_set():
    """What native code uses, and whether RUSHLIGHT_ISA has a say in it."""
    cap = isa.cap()
    return isa.effective() + (f" (RUSHLIGHT_ISA={cap.name}; the processor has {isa.of_processor()})" if cap else "")


def version(distribution):
    """The version of an installed distribution, or None."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed_version

    try:
        return installed_version(distribution)
    except PackageNotFoundError:
        return None


def get_pretty_env_info() -> str:
    """What `rushlight env` prints."""
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print_environment()
    return text.getvalue()


def main() -> None:
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
