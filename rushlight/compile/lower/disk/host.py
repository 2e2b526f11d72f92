"""What LLVM says of this processor, kept on disk: a process that finds all its code there need not load LLVM.

Loading it takes 50 to 100 ms and 50 MB. A record is found by what the answers depend on: the file of llvmlite's library (its
place, size and time), and the processor as the system describes it, with the features that the system allows.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ....core.locks import held_by_forks, made_once
from . import code_cache

__all__ = ["Host", "host", "set_up"]

_VERSION = "1"  # of what a record has


class Host(NamedTuple):
    """llvmlite's version, LLVM's, the platform, the processor, and which of the features that LLVM knows it has."""

    llvmlite: str
    llvm: tuple[int, ...]
    triple: str
    processor: str
    features: dict[str, bool]


@made_once
def host() -> Host | None:
    """This process's processor; None where llvmlite is missing or has no code for it."""
    key = _key()
    if key is None:
        return None
    known = _recorded(key)
    if known is None:
        known = _asked()
        if known is not None:
            code_cache.write(f"{key}.host", json.dumps(known).encode())
    return known


@made_once
def set_up() -> bool:
    """Load LLVM for this processor. False where it has no code for it."""
    from llvmlite import binding

    in_llvm = getattr(getattr(binding.ffi.lib, "_lock", None), "_lock", None)  # code is also freed, without `making`
    if in_llvm is not None:
        held_by_forks(in_llvm)
    try:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        binding.Target.from_default_triple()
    except RuntimeError:
        return False
    return True


def _asked() -> Host | None:
    """What LLVM itself says."""
    try:
        import llvmlite
        from llvmlite import binding
    except (ImportError, OSError):
        return None  # without ctypes, neither
    if not set_up():
        return None
    processor, features = binding.get_host_cpu_name(), dict(binding.get_host_cpu_features())
    return Host(
        llvmlite.__version__, tuple(binding.llvm_version_info), binding.get_default_triple(), processor, features
    )


def _recorded(key: str) -> Host | None:
    rest = code_cache.read(f"{key}.host")
    if rest is None:
        return None
    version, llvm, triple, processor, features = json.loads(rest)
    return Host(version, tuple(llvm), triple, processor, features)


def _key() -> str | None:
    """The name of this processor's record; None without llvmlite."""
    library = _library()
    if library is None:
        return None
    found = library.stat()
    return code_cache.key_of(_VERSION, str(library), str(found.st_size), str(found.st_mtime_ns), *_processor())


def _library() -> Path | None:
    """The file of llvmlite's library."""
    try:
        spec: Any = importlib.util.find_spec("llvmlite")
        places = list(spec.submodule_search_locations)
    except (ImportError, ValueError, AttributeError, TypeError):
        return None
    found = (path for place in places for path in sorted(Path(place, "binding").glob("*llvmlite.*")))
    return next((path for path in found if path.suffix in (".so", ".dylib", ".dll")), None)


def _processor() -> list[str]:
    """The processor as the system describes it: what Linux says of the first, without what changes from time to time."""
    name = os.uname() if hasattr(os, "uname") else None
    known = [sys.platform, name.machine if name else "", name.release if name else ""]
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return known
    return known + [line for line in first.splitlines() if not line.startswith(("cpu MHz", "bogomips", "BogoMIPS"))]
