"""Modules that lay elsewhere once, for pickles and programs that name them; their public names never changed."""

MOVED = {
    "absent_device": "torch._no_device",
    "cli.environment": "torch.utils.collect_env",
    "compat.version": "torch.version",
    "compat.vision_version": "vision.version",
    "compile.checks": "compile.guards.checks",
    "compile.compare": "compile.capture.compare",
    "compile.dict_watcher": "compile.guards.dict_watcher",
    "compile.eager_programs": "compile.jit.eager",
    "compile.expression": "compile.ir.expression",
    "compile.graph": "compile.ir.graph",
    "compile.heap": "compile.runtime.heap",
    "compile.interpret": "compile.runtime.interpret",
    "compile.joint": "compile.capture.joint",
    "compile.layouts": "compile.guards.layouts",
    "compile.lazy": "compile.ir.lazy",
    "compile.loops": "compile.jit.loops",
    "compile.lower.quick": "compile.lower.fast_math",
    "compile.memory": "compile.capture.memory",
    "compile.native": "compile.runtime.native",
    "compile.numbers": "compile.capture.scalars_read",
    "compile.optimizer_step": "compile.jit.optimizer",
    "compile.ordered": "compile.ir.overlapping_writes",
    "compile.outcome": "compile.capture.outputs",
    "compile.packs": "compile.runtime.prepacked_weights",
    "compile.places": "compile.ir.locations",
    "compile.printing": "compile.capture.printing",
    "compile.program": "compile.runtime.program",
    "compile.pure_calls": "compile.guards.pure_calls",
    "compile.python_state": "compile.guards.python_state",
    "compile.python_trace": "compile.guards.python_trace",
    "compile.refusals": "compile.ir.may_raise",
    "compile.repeated": "compile.jit.backward",
    "compile.rewrite": "compile.ir.rewrite",
    "compile.sources": "compile.capture.sources",
    "compile.spaces": "compile.ir.spaces",
    "compile.straight": "compile.capture.tail_position",
    "compile.structure": "compile.capture.structure",
    "compile.tape": "compile.jit.tape",
    "compile.undo": "compile.runtime.undo",
    "compile.update": "compile.jit.update",
    "compile.verify": "compile.ir.verify",
    "compile.watched_array": "compile.capture.watched_array",
    "compile.word_table": "compile.guards.word_table",
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
