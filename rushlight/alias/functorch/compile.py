"""`functorch.compile`: graphs of forward and backward."""

from ...torch._functorch import config
from ...torch._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_compiler,
    make_boxed_func,
)
from ...torch._functorch.compilers import nop, print_compile
from ...torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition

__all__ = [
    "aot_function", "aot_module", "aot_module_simplified", "config", "default_partition", "make_boxed_compiler", "make_boxed_func",
    "min_cut_rematerialization_partition", "nop", "print_compile",
]  # fmt: skip
