"""The graph of an ONNX file: a node for each input, output and operator."""

# the packages onnx and tensorboard are optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from typing import Any

__all__ = ["graph_of_onnx"]


def graph_of_onnx(path: Any) -> Any:
    """The model's graph in TensorBoard's messages; an operator goes by the name of its first result."""
    try:
        import onnx
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "add_onnx_graph reads the file through the package onnx, which is not installed: "
            "pip install onnx (or rushlight[onnx])",
            name="onnx",
        ) from None
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef
    from tensorboard.compat.proto.versions_pb2 import VersionDef

    graph = onnx.load(path).graph
    nodes = [_variable(value) for value in (*graph.input, *graph.output)]
    for node in graph.node:
        settings = ", ".join(" = ".join(str(value) for _, value in a.ListFields()) for a in node.attribute)
        name = node.output[0].encode()
        nodes.append(NodeDef(name=name, op=node.op_type, input=node.input, attr={"parameters": _text(settings)}))
    return GraphDef(node=nodes, versions=VersionDef(producer=22))


def _text(settings: str) -> Any:
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue

    return AttrValue(s=settings.encode())


def _variable(value: Any) -> Any:
    """The node of an input or output."""
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue
    from tensorboard.compat.proto.node_def_pb2 import NodeDef
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

    kind = value.type.tensor_type
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=d.dim_value) for d in kind.shape.dim])
    attributes = {"dtype": AttrValue(type=kind.elem_type), "shape": AttrValue(shape=shape)}
    return NodeDef(name=value.name.encode(), op="Variable", attr=attributes)
