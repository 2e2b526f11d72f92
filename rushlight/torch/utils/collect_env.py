"""`torch.utils.collect_env`, and the command `rushlight env`: what is installed, as text for a bug report."""

import os
import re
import sys

from ...backend import isa, quota
from ...backend.onednn import library, threads

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
    "onnx": "torch.onnx.export",
}
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RUSHLIGHT_JIT", "RUSHLIGHT_ISA")


def print_environment():
    """Versions of Rushlight, Python and the libraries that Rushlight uses where they are present."""
    import platform

    rows = [
        ("rushlight", version("rushlight") or "from source"),
        ("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("platform", platform.platform()),
        ("cpus", _processors()),
        ("instruction set", _instruction_set()),
        ("threads", _threads()),
        ("oneDNN", library.reason_unavailable() or f"loads ({library.version()})"),
        ("native code", _native_code()),
        ("torch", _shadowed()),
    ]
    rows += [(name, version(name) or f"not installed ({purpose})") for name, purpose in _LIBRARIES.items()]
    for name, value in rows:
        print(f"{name:16} {value}")


def _instruction_set():
    """What native code uses, and whether RUSHLIGHT_ISA has a say in it."""
    cap = isa.cap()
    return isa.effective() + (f" (RUSHLIGHT_ISA={cap.name}; the processor has {isa.of_processor()})" if cap else "")


def _processors():
    """How many there are, and what part of them a container's quota allows."""
    limit = quota.processors()
    return f"{os.cpu_count()}" + ("" if limit is None else f" (a quota of {limit} by its control group)")


def _threads():
    """How many threads an operator uses, and the variables that say so."""
    set_by = [f"{name}={os.environ[name]}" for name in _THREAD_VARIABLES if name in os.environ]
    return f"{threads.get_num_threads()}" + (f" ({', '.join(set_by)})" if set_by else "")


def _native_code():
    """Whether llvmlite, which makes it, can be imported."""
    try:
        import llvmlite.binding as llvm

        return f"LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
    except Exception as error:  # the library is there and does not load
        return f"none: llvmlite does not load ({type(error).__name__}: {error})"


def _shadowed():
    """The installed torch that the alias hides, if there is one: looked for in the paths, and not imported."""
    from importlib.machinery import PathFinder

    for folder in sys.path:
        spec = PathFinder.find_spec("torch", [folder])
        if spec is not None and spec.submodule_search_locations:
            return f"{version('torch') or 'unknown version'} in {folder}; `rushlight run` takes Rushlight instead"
    return "not installed"


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


# ---------------------------------------------------------------------------------------------- torch's helpers


def run(command):
    """(status, output, errors) of a command, which is a text for the shell or a list."""
    import locale
    import subprocess

    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True)
    encoding = "oem" if get_platform() == "win32" else locale.getpreferredencoding()
    return done.returncode, done.stdout.decode(encoding).strip(), done.stderr.decode(encoding).strip()


def run_and_read_all(run_lambda, command):
    """The output of a command that `run_lambda` runs, or None where it fails."""
    status, output, _ = run_lambda(command)
    return None if status else output


def run_and_parse_first_match(run_lambda, command, regex):
    """The first group of an expression in the output of a command, or None."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return found and found[1]


def run_and_return_first_line(run_lambda, command):
    """The first line of the output of a command, or None where it fails."""
    output = run_and_read_all(run_lambda, command)
    return None if output is None else output.split("\n")[0]


def get_gcc_version(run_lambda):
    """What `gcc --version` names, or None."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda):
    """What `clang --version` names, or None."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda):
    """What `cmake --version` names, or None."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_nvidia_driver_version(run_lambda):
    """The version of NVIDIA's driver, or None."""
    return run_and_parse_first_match(run_lambda, "nvidia-smi", r"Driver Version: (.*?) ")


def get_gpu_info(run_lambda):
    """The names of NVIDIA's GPUs, a line each, or None."""
    return run_and_read_all(run_lambda, "nvidia-smi -L")


def get_cpu_info(run_lambda):
    """What the system says of its processors: `lscpu` on Linux, `sysctl` on macOS."""
    command = {"linux": "lscpu", "darwin": "sysctl -n machdep.cpu.brand_string"}.get(get_platform())
    status, output, errors = run_lambda(command) if command else (0, "None", "")
    return errors if status else output


def get_platform():
    """One of "linux", "win32", "cygwin", "darwin", or `sys.platform`."""
    known = ("linux", "win32", "cygwin", "darwin")
    return next((name for name in known if sys.platform.startswith(name)), sys.platform)


def main() -> None:
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
