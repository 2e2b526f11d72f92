"""Symbolic tracing, under the names of `torch.fx`: a module or function as a graph of calls that can be changed and run.

`symbolic_trace` runs a function on proxies, which note what is done with them (`core/dispatch/torch_function.py` tells how operators
get to know of them). The graph prints as Python code, and a `GraphModule` runs that code.
"""

from ._symbolic_trace import Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
