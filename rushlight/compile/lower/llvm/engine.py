"""LLVM on this machine: from assembly to addresses.

llvmlite is loaded where something is compiled; what the cache on disk has is linked without it (`disk/object_file.py`), but for
other systems than Linux on x86-64.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from ....backend import isa
from ....core.foreign import ctypes, loaded_functions
from ....core.locks import made_once, making
from ...ir.scalar_ops import SCALAR_OPS
from ..disk import code_cache, object_file
from ..disk.host import Host, host, set_up

__all__ = [
    "Code",
    "Shared",
    "attributes",
    "available",
    "build",
    "converts_half",
    "forget",
    "function",
    "fuses",
    "register",
    "vector_bytes",
]


_LIBM = {"linux": "libm.so.6", "darwin": "/usr/lib/libSystem.dylib"}  # the systems for which this makes code
_OLDEST_LLVM = 19  # whose assembly has `splat` constants; llvmlite 0.45 has 20


@made_once
def available() -> bool:
    """Whether llvmlite is installed, with LLVM 19 or later, on a processor for which this makes code."""
    known = host() if _libm() is not None else None
    return known is not None and known.llvm[0] >= _OLDEST_LLVM


NEEDED = "native code needs llvmlite, under Linux on x86-64 or 64-bit ARM, or under macOS (`rushlight env` says what there is)"


@made_once
def _libm() -> Any:
    """The system's functions of mathematics; None on another system, or with another C library (musl has one file)."""
    name = _LIBM.get(sys.platform)
    try:
        return None if name is None else ctypes.CDLL(name)
    except (ImportError, OSError):  # without ctypes; without the file
        return None


@made_once
def features() -> frozenset[str]:
    """What generated code may use of this processor, in LLVM's words: all of it, or what RUSHLIGHT_ISA leaves."""
    known = host()
    return isa.permitted(name for name, on in known.features.items() if on) if known else frozenset()


def fuses() -> bool:
    """Whether the processor multiplies and adds in one instruction, rounding once."""
    return isa.is_arm() or "fma" in features()


def converts_half() -> bool:
    """Whether the processor has instructions between float16 and float32."""
    return isa.is_arm() or "f16c" in features()


def vector_bytes() -> int:
    """How long a vector register is."""
    return 64 if "avx512f" in features() else 32 if {"avx2", "fma"} <= features() else 16


def attributes() -> str:
    """The attribute group of every function here."""
    wide = f'"prefer-vector-width"="{8 * vector_bytes()}" "min-legal-vector-width"="{8 * vector_bytes()}"'
    return f'attributes #0 = {{ nounwind {wide} "no-builtins" "no-trapping-math"="true" }}\n'


class Code:
    """The functions of one module. They are there as long as this object is; LLVM then takes their memory back."""

    __slots__ = ("__weakref__", "_addresses", "_library")

    def __init__(self, library: Any, names: list[str]):
        self._library = library
        self._addresses = {name: library[name] for name in names}

    def address(self, name: str) -> int:
        """Where the function `name` starts. Raises KeyError if there is none."""
        if name not in self._addresses:
            raise KeyError(f"no function {name} in this code")
        return self._addresses[name]


class Shared:
    """Compiled things by what decides their code: as long as they are referenced, and the latest `recent` beyond that.

    So programs that are made and dropped again and again compile once, and what is no longer run is bounded.
    """

    def __init__(self, recent: int):
        self._known: WeakValueDictionary[tuple, Any] = WeakValueDictionary()
        self._recent: deque[Any] = deque(maxlen=recent)
        _all_shared.append(self)

    def get(self, key: tuple) -> Any:
        """What was added for the key, or None."""
        return self._known.get(key)

    def add(self, key: tuple, made: Any) -> Any:
        """What is there for the key from now on: `made`, or what another thread has added meanwhile.

        Its addresses are good as long as the caller holds it.
        """
        with making:
            known = self._known.setdefault(key, made)
            self._recent.append(known)
        return known

    def __len__(self) -> int:
        return len(self._known)

    def forget(self) -> None:
        """Drop what has no other reference."""
        self._recent.clear()


def forget() -> None:
    """Give back the code that no program runs."""
    for shared in _all_shared:
        shared.forget()


_all_shared: list[Shared] = []


class _Jit:
    """The one linker of a process: what LLVM knows of the processor takes 0.75 MB for each target machine.

    Each module is a library of its own. What is left of one when its code is gone, its names, takes 13 kB.
    """

    def __init__(self):
        from llvmlite import binding

        set_up()
        self.machine = _new_machine()
        self.linker = binding.create_lljit_compiler(_new_machine())
        self.modules = 0
        self.math = self._link_math(binding)

    def _link_math(self, binding: Any) -> Any:
        """A library of libm's functions, for all others: LLVM calls some that no text names."""
        libm = _libm()
        builder = binding.JITLibraryBuilder()
        names = [op.libm for op in SCALAR_OPS.values() if op.libm]
        for name in (*names, *(f"{name}f" for name in names)):
            builder.import_symbol(name, ctypes.cast(getattr(libm, name), ctypes.c_void_p).value)
        return builder.link(self.linker, "math")

    def link(self, binding: Any, image: bytes, names: list[str], declared: list[str]) -> Any:
        """The functions `names` of an object file that calls what is `declared`."""
        builder = binding.JITLibraryBuilder().add_object_img(image).add_jit_library("math").add_current_process()
        for name in declared:
            if name in _symbols:
                builder.import_symbol(name, _symbols[name])
        for name in names:
            builder.export_symbol(name)
        self.modules += 1
        return builder.link(self.linker, f"m{self.modules}")


_jit = made_once(_Jit)
_symbols: dict[str, int] = {}


def function(assembly: str, name: str, *types: Any) -> Callable[..., None]:
    """A function of a module, for Python to call with arguments of these ctypes; the code lives as long as it does."""
    code = build(assembly)
    made = ctypes.CFUNCTYPE(None, *types)(code.address(name))
    made.code = code  # type: ignore[attr-defined]
    return made


def build(assembly: str, optimise: bool = True) -> Code:
    """The compiled functions of a module. Raises RuntimeError with LLVM's message where the text is wrong.

    It comes from the cache on disk, where it was made before: the text has no addresses of this process.
    """
    with making:
        key = code_cache.key_of(assembly, str(optimise), *_makers())
        module = code_cache.load(key)
        if module is not None:
            linked = object_file.link(module.image, module.names, _address_of)
            if linked is not None:
                return Code(linked, module.names)
        from llvmlite import binding

        if module is None:
            module = _compiled(binding, assembly, optimise)
            code_cache.store(key, module)
        return Code(_jit().link(binding, module.image, module.names, module.declared), module.names)


def _address_of(symbol: str) -> int | None:
    """Where code that names a symbol finds it: what was registered, libm's functions, or what the process has loaded."""
    if symbol in _symbols:
        return _symbols[symbol]
    for library in (_libm(), loaded_functions()):
        found = getattr(library, symbol, None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value
    return None


def _compiled(binding: Any, assembly: str, optimise: bool) -> code_cache.Module:
    set_up()
    module = binding.parse_assembly(assembly, binding.create_context())
    machine = _jit().machine
    if optimise:
        _optimise(module, machine)
    defined = [f for f in module.functions if not f.is_declaration and f.linkage == binding.Linkage.external]
    names = [f.name for f in defined]
    declared = [f.name for f in module.functions if f.is_declaration]
    image = machine.emit_object(module)
    module.close()
    return code_cache.Module(names, declared, image)


@made_once
def _makers() -> tuple[str, ...]:
    """What besides its text determines a module's code."""
    known = _host()
    return "1", known.llvmlite, str(known.llvm), *_target()


def _host() -> Host:
    known = host()
    if known is None:
        raise RuntimeError(NEEDED)
    return known


def register(symbol: str, address: int) -> None:
    """Make an address known under the name by which generated code calls it."""
    _symbols[symbol] = address


def _optimise(module: Any, machine: Any) -> None:
    """Stack slots to registers, simplification, loop invariants out of loops.

    The loops are written with vectors, so the vectoriser, and the passes that prepare loops for it, have nothing to do:
    without them a kernel compiles several times faster.
    """
    from llvmlite import binding

    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2))
    passes = binding.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_simplify_pass()
    passes.add_simplify_cfg_pass()
    for f in module.functions:
        if not f.is_declaration:
            passes.run(f, builder)


def _new_machine() -> Any:
    from llvmlite import binding

    _, processor, flags = _target()
    return binding.Target.from_default_triple().create_target_machine(cpu=processor, features=flags, opt=2, jit=True)


@made_once
def _target() -> tuple[str, str, str]:
    """The platform, the processor, and its features in LLVM's words."""
    cap, known = isa.cap(), _host()
    processor = known.processor if cap is None else cap.processor
    used = features()
    flags = ",".join(f"{'+' if name in used else '-'}{name}" for name in sorted(known.features))
    return known.triple, processor, flags
