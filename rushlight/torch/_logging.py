"""`torch._logging`: what a program asks to see of the compiler."""

from __future__ import annotations

import warnings
from typing import Any

from ..compile import log

__all__ = ["set_logs"]

_TOPICS = {
    **dict.fromkeys(("aot_graphs", "aot_joint_graph", "graph", "graph_code", "post_grad_graphs"), "graph"),
    **dict.fromkeys(("fusion", "ir_post_fusion", "ir_pre_fusion", "schedule"), "passes"),
    **dict.fromkeys(("kernel_code", "output_code"), "kernels"),
    **dict.fromkeys(("dynamo", "graph_breaks", "inductor"), "jit"),
    **dict.fromkeys(("recompiles", "recompiles_verbose"), "recompiles"),
}
_OTHERS = (
    *("all", "aot", "autograd", "autotuning", "benchmarking", "bytecode", "c10d", "caching"),
    *("compiled_autograd", "compiled_autograd_verbose", "compute_dependencies"),
    *("cudagraph_static_inputs", "cudagraphs", "ddp", "ddp_graphs", "distributed", "dtensor", "dynamic"),
    *("export", "fsdp", "graph_code_verbose", "graph_region_expansion", "graph_sizes", "guards"),
    *("hierarchical_compile", "incremental", "inductor_metrics", "onnx", "onnx_diagnostics", "overlap"),
    *("perf_hints", "pre_grad_graphs", "side_effects", "sym_node", "trace_bytecode", "trace_call"),
    *("trace_source"),
)


def set_logs(*, modules: dict[str, Any] | None = None, **logs: Any) -> None:
    """Print what the compiler does to stderr, as RUSHLIGHT_LOG does: these logs from now on and no others.

    Args:
        logs: torch's names; true, or a level that shows more than errors. Graphs, passes, generated code and
            recompilations are there, in Rushlight's words. For others of torch's logs there is a warning.
        modules: levels of modules' own loggers, which Rushlight does not have.
    Raises:
        TypeError: torch has no such log, as in `set_logs(graphs=True)`.
    """
    unknown = [name for name in logs if name not in _TOPICS and name not in _OTHERS]
    if unknown:
        raise TypeError(f"set_logs() got an unexpected keyword argument '{unknown[0]}'")
    wanted = [name for name, level in logs.items() if level is True or (type(level) is int and 0 < level < 40)]
    missing = [*(name for name in wanted if name in _OTHERS), *(modules or ())]
    if missing:
        warnings.warn(f"set_logs: Rushlight has no log of {', '.join(missing)}", stacklevel=2)
    log.ask_for(_TOPICS[name] for name in wanted if name in _TOPICS)
