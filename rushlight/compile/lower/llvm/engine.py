"""LLVM on this machine: from assembly to addresses.

llvmlite is loaded by the first call, not by importing this.
"""

from __future__ import annotations

import ctypes
import functools
from _thread import RLock
from typing import Any

__all__ = ["Code", "attributes", "available", "build", "register", "vector_bytes"]


_OLDEST_LLVM = 19  # whose assembly has `splat` constants; llvmlite 0.45 has 20
_NEEDED = frozenset(("avx2", "fma", "f16c"))  # without them LLVM calls functions that no library here has


@functools.cache
def available() -> bool:
    """Whether llvmlite is installed, with LLVM 19 or later, on a processor for which this makes code."""
    try:
        from llvmlite import binding
    except (ImportError, OSError):
        return False
    return binding.llvm_version_info[0] >= _OLDEST_LLVM and _machine() is not None and features() >= _NEEDED


@functools.cache
def features() -> frozenset[str]:
    """What this processor can do, in LLVM's words."""
    from llvmlite import binding

    return frozenset(name for name, on in binding.get_host_cpu_features().items() if on)


def vector_bytes() -> int:
    """How long a vector register is."""
    return 64 if "avx512f" in features() else 32 if "avx2" in features() else 16


def attributes() -> str:
    """The attribute group of every function here."""
    wide = f'"prefer-vector-width"="{8 * vector_bytes()}" "min-legal-vector-width"="{8 * vector_bytes()}"'
    return f'attributes #0 = {{ nounwind {wide} "no-builtins" "no-trapping-math"="true" }}\n'


class Code:
    """The functions of one module. They stay as long as the process does."""

    __slots__ = ("_prefix", "_addresses")

    def __init__(self, prefix: str):
        self._prefix = prefix
        self._addresses: dict[str, int] = {}

    def address(self, name: str) -> int:
        """Where the function `name` starts. Raises KeyError if there is none."""
        if name not in self._addresses:
            with _lock:
                self._addresses[name] = _jit().engine.get_function_address(self._prefix + name)
        if not self._addresses[name]:
            raise KeyError(f"no function {name} in this code")
        return self._addresses[name]


class _Jit:
    """The one engine of a process: what LLVM knows of the processor takes 0.75 MB for each target machine."""

    def __init__(self):
        from llvmlite import binding

        self.machine = _new_machine()
        module = binding.parse_assembly("", binding.create_context())
        self.engine = binding.create_mcjit_compiler(module, self.machine)
        self.modules = 0


_lock = RLock()
_jit = functools.cache(_Jit)


def build(assembly: str, optimise: bool = True) -> Code:
    """The compiled functions of a module. Raises RuntimeError with LLVM's message where the text is wrong."""
    from llvmlite import binding

    _machine()
    module = binding.parse_assembly(assembly, binding.create_context())
    with _lock:
        jit = _jit()
        prefix = f"m{jit.modules}_"
        jit.modules += 1
        for function in module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.name = prefix + function.name
        if optimise:
            _optimise(module, jit.machine)
        jit.engine.add_module(module)
        jit.engine.finalize_object()
        jit.engine.remove_module(module)
        module.close()
    return Code(prefix)


def register(symbol: str, address: int) -> None:
    """Make an address known under the name by which generated code calls it."""
    from llvmlite import binding

    binding.add_symbol(symbol, address)


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
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _new_machine() -> Any:
    from llvmlite import binding

    flags = binding.get_host_cpu_features().flatten()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=flags, opt=2, jit=True
    )


@functools.cache
def _machine() -> Any:
    """Sets LLVM up, and makes the functions of libm known. The target machine itself, or None where there is none."""
    from llvmlite import binding

    try:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = _new_machine()
    except RuntimeError:
        return None
    libm = ctypes.CDLL("libm.so.6")
    for name in MATH_FUNCTIONS:
        for symbol in (name, name + "f"):
            binding.add_symbol(symbol, ctypes.cast(getattr(libm, symbol), ctypes.c_void_p).value)
    return machine


MATH_FUNCTIONS = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2", "expm1",
    "log", "log2", "log10", "log1p", "erf", "erfc", "pow", "atan2", "hypot", "fmod",
)  # fmt: skip
