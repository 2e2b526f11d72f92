"""A network's forward pass as a graph: a node for each operator, in the module that called it, an edge for each tensor."""

# the package tensorboard is optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rushlight.compile.stance import set_stance
from rushlight.core.dispatch.mode import hearing, no_grad
from rushlight.core.tensor.tensor import Tensor

from ..display.copies import unobserved
from ..display.forms import tensors_in

if TYPE_CHECKING:
    from rushlight.core.dispatch.op import Op

__all__ = ["graph_of"]


def graph_of(model: Any, inputs: Any) -> tuple[Any, Any]:
    """(graph, step statistics) of one forward pass in evaluation mode, in TensorBoard's messages.

    An operator is in the scope of its module, named by class and attribute as in torch: "Net/Linear[fc]/linear". Parameters
    and buffers are nodes of the modules that own them; numbers are attributes of the operators.
    """
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
    from tensorboard.compat.proto.versions_pb2 import VersionDef

    arguments = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    recorder = _Recorder(model)
    for name, value in zip(_names_of_arguments(model, len(arguments)), arguments, strict=True):
        for tensor in tensors_in(value):
            recorder.add(f"input/{name}", "IO Node", [], [tensor])
    with (
        unobserved(recorder.call),
        no_grad(),
        _evaluating(model),
        set_stance("force_eager"),
        hearing(recorder.operator),
    ):
        result = model(*arguments)
    for n, tensor in enumerate(tensors_in(result), 1):
        recorder.add(f"output/output.{n}", "IO Node", [recorder.source(tensor)], [])
        recorder.nodes[-1].attr["_output_shapes"].CopyFrom(_shapes([tensor]))
    graph = GraphDef(node=recorder.nodes, versions=VersionDef(producer=22))
    statistics = StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")])
    return graph, RunMetadata(step_stats=statistics)


def _names_of_arguments(model: Any, count: int) -> list[str]:
    """The names of forward's parameters, those of `*args` by number."""
    found: list[str] = []
    for parameter in inspect.signature(model.forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            found += [f"{parameter.name}.{n}" for n in range(count - len(found))]
        found.append(parameter.name)
    return found[:count] if len(found) >= count else [f"input.{n}" for n in range(count)]


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


def _shapes(tensors: list[Tensor]) -> Any:
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

    shapes = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=k) for k in t.shape]) for t in tensors]
    return AttrValue(list=AttrValue.ListValue(shape=shapes))


class _Recorder:
    """The nodes so far, and which of them made a tensor. Tensors are kept, so that no identity is used again."""

    def __init__(self, model: Any):
        self.nodes: list[Any] = []
        self.names: dict[str, int] = {}  # and how many others begin with each
        self.makers: dict[int, str] = {}
        self.kept: list[Tensor] = []
        self.scopes: dict[int, str] = {}
        self.owned: dict[int, str] = {}  # names of parameters and buffers
        self.running: list[str] = []
        self._enter_scopes(model, type(model).__name__)

    def _enter_scopes(self, module: Any, scope: str) -> None:
        if id(module) in self.scopes:
            return
        self.scopes[id(module)] = scope
        for name, t in (*module._parameters.items(), *module._buffers.items()):
            if t is not None:
                self.owned.setdefault(id(t), f"{scope}/{name}")
        for name, child in module.named_children():
            self._enter_scopes(child, f"{scope}/{type(child).__name__}[{name}]")

    def call(self, module: Any, call: Any, hooked: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a module, as `module_caller` in extension_points.py does: what it computes is in its scope."""
        outer = self.running[-1] if self.running else ""
        self.running.append(self.scopes.get(id(module), f"{outer}/{type(module).__name__}".lstrip("/")))
        try:
            return call(module, hooked, args, kwargs)
        finally:
            self.running.pop()

    def operator(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        name = record.name.partition(".")[0]
        numbers = [t for t in tensors if t is not None and not isinstance(t, Tensor)]
        sources = [self.source(t) for t in tensors if isinstance(t, Tensor)]
        outputs = [t for t in (result if isinstance(result, tuple) else (result,)) if isinstance(t, Tensor)]
        scope = self.running[-1] if self.running else ""
        note = ", ".join(map(repr, (*numbers, *metadata)))
        self.add(f"{scope}/{name}".lstrip("/"), f"aten::{name}", sources, outputs, f"{{{note}}}")

    def source(self, t: Tensor) -> str:
        """The node that made a tensor; of what no operator made, a node of its own."""
        if id(t) not in self.makers:
            scope = self.running[-1] if self.running else ""
            owned = self.owned.get(id(t))
            name, op = (owned, "prim::GetAttr") if owned else (f"{scope}/constant".lstrip("/"), "prim::Constant")
            self.add(name, op, [], [t])
        return self.makers[id(t)]

    def add(self, name: str, op: str, sources: list[str], outputs: list[Tensor], note: str = "") -> None:
        """One node, under a name that no other has."""
        from tensorboard.compat.proto.attr_value_pb2 import AttrValue
        from tensorboard.compat.proto.node_def_pb2 import NodeDef

        unique = name
        while unique in self.names:
            self.names[name] += 1
            unique = f"{name}_{self.names[name]}"
        self.names[unique] = 0
        attributes = {"attr": AttrValue(s=note.encode()), "_output_shapes": _shapes(outputs)}
        self.nodes.append(NodeDef(name=unique, op=op, input=sources, attr=attributes))
        for t in outputs:
            self.makers[id(t)] = unique
        self.kept += outputs
