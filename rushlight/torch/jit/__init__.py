"""`torch.jit`: programs. `trace` records one run of a function or module; `script` leaves Python as it is."""

from typing import TYPE_CHECKING, Final

from .._stand_ins import lookup
from ..futures import Future
from ..unavailable import exported
from .compiling.modules import script
from .files.loading import load
from .files.saving import save
from .programs import RecursiveScriptModule, ScriptFunction, TopLevelTracedModule, TracedModule, export_opnames
from .recording.trace_check import TracerWarning, TracingCheckError
from .recording.trace_graph import _get_trace_graph
from .recording.tracing import is_tracing, trace, trace_module
from .scripting import (
    Attribute,
    Error,
    ScriptModule,
    _overload,
    _overload_method,
    annotate,
    enable_onednn_fusion,
    export,
    fork,
    freeze,
    ignore,
    interface,
    is_scripting,
    isinstance,
    onednn_fusion_enabled,
    optimize_for_inference,
    optimized_execution,
    script_if_tracing,
    script_method,
    set_fusion_strategy,
    strict_fusion,
    unused,
    wait,
)
from .scripting import _fork as _fork
from .scripting import _wait as _wait

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "_get_trace_graph",
    "_overload",
    "_overload_method",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
__all__ += exported("jit")

if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
