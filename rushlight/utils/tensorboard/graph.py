"""A network's modules as a graph: a node for each call of a module without children, an edge for each tensor between."""

# the package tensorboard is optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.tensor import Tensor

__all__ = ["graph_of"]


def graph_of(model: Any, inputs: Any) -> tuple[Any, Any]:
    """(graph, step statistics) of one forward pass in evaluation mode, in TensorBoard's messages.

    What a module computes outside its children belongs to no node: an edge ends at the module that made the tensor, and
    at the model's input where none did.
    """
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
    from tensorboard.compat.proto.versions_pb2 import VersionDef

    arguments = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    calls = _Calls(type(model).__name__)
    for tensor in _tensors(arguments):
        calls.add(f"input/{tensor_name(tensor)}", "IO Node", [], [tensor])
    handles = [
        module.register_forward_hook(calls.hook(name))
        for name, module in model.named_modules()
        if name and next(module.children(), None) is None
    ]
    try:
        with no_grad(), _evaluating(model):
            result = model(*arguments)
    finally:
        for handle in handles:
            handle.remove()
    calls.add("output/result", "IO Node", _tensors(result), [])
    graph = GraphDef(node=calls.nodes, versions=VersionDef(producer=22))
    statistics = StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")])
    return graph, RunMetadata(step_stats=statistics)


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode: looking at a network draws no dropout mask and moves no running average.

    Afterwards the mode of `model` is its parts' too, as in torch.
    """
    training = model.training
    model.train(False)
    try:
        yield
    finally:
        model.train(training)


def tensor_name(tensor: Tensor) -> str:
    """The shape, as a part of a node's name."""
    return "x".join(map(str, tensor.shape)) or "scalar"


class _Calls:
    """The nodes so far, and which of them made a tensor. Tensors are kept, so that no identity is used again."""

    def __init__(self, root: str):
        self.root = root
        self.nodes: list[Any] = []
        self.names: set[str] = set()
        self.makers: dict[int, str] = {}
        self.kept: list[Tensor] = []
        self.last = ""

    def hook(self, path: str) -> Any:
        def record(module: Any, inputs: Any, output: Any) -> None:
            name = f"{self.root}/{path.replace('.', '/')}/{type(module).__name__}"
            self.add(name, type(module).__name__, _tensors(inputs), _tensors(output), module.extra_repr())

        return record

    def add(self, name: str, op: str, inputs: list[Tensor], outputs: list[Tensor], note: str = "") -> None:
        from tensorboard.compat.proto.attr_value_pb2 import AttrValue
        from tensorboard.compat.proto.node_def_pb2 import NodeDef
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        unique, n = name, 1
        while unique in self.names:
            unique, n = f"{name}_{n}", n + 1
        self.names.add(unique)
        sources = [self.makers.get(id(t), self.last) for t in inputs]
        shapes = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=k) for k in t.shape]) for t in outputs]
        attributes = {
            "attr": AttrValue(s=note.encode()),
            "_output_shapes": AttrValue(list=AttrValue.ListValue(shape=shapes)),
        }
        self.nodes.append(NodeDef(name=unique, op=op, input=[s for s in sources if s], attr=attributes))
        for t in outputs:
            self.makers[id(t)] = unique
        self.kept += outputs
        self.last = unique


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for part in value for t in _tensors(part)] if isinstance(value, (list, tuple)) else []
