"""`convert_fx`: the model that `prepare_fx` has made and data have passed, with levels in place of numbers."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ... import ops
from ...core.tensor import dtype as dtypes
from ...nn import modules as nn
from ...nn.quantization import intrinsic as nni
from ...nn.quantization.linear import Linear as DynamicLinear
from ...nn.quantization.linear_relu import LinearReLU as DynamicLinearReLU
from ...nn.quantization.mappings import DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
from ...nn.quantization.quantize import _DEPRECATED, get_default_dynamic_quant_module_mappings
from ...nn.quantization.static.layers import Softmax
from ...nn.quantization.static.library import OPERATORS
from ...ops.quantized.tensor import quantize_per_tensor
from ..graph_module import GraphModule
from ..node import Node
from .backend import check_backend
from .functional import levels_of, packed_attribute, packed_product, reduces_range, weight_of
from .kinds import BINARY, FUNCTIONS, RELUS, kind_of, own_kind

__all__ = ["convert_fx"]


def convert_fx(
    graph_module: GraphModule, convert_custom_config: Any = None, _remove_qconfig: bool = True, qconfig_mapping: Any = None,
    backend_config: Any = None, keep_original_weights: bool = False,
) -> GraphModule:  # fmt: skip
    """A copy of an observed model whose layers and operators work on levels.

    Args:
        graph_module: of `prepare_fx` or `prepare_qat_fx`.
    Raises:
        NotImplementedError: an option that is not implemented, as in `convert_fx(None, backend_config=1)`.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    for name, value in (
        ("convert_custom_config", convert_custom_config), ("qconfig_mapping", qconfig_mapping),
        ("keep_original_weights", keep_original_weights),
    ):  # fmt: skip
        if value:
            raise NotImplementedError(f"convert_fx: {name} is not implemented")
    check_backend("convert_fx", backend_config)
    made = copy.deepcopy(graph_module)
    lowered = _Lowered(made)
    lowered.mark()
    made.graph.eliminate_dead_code()
    lowered.lower()
    lowered.clean()
    return made


class _Lowered:
    def __init__(self, model: GraphModule):
        self.model, self.graph = model, model.graph
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.read_before = {node.target for node in self.graph.nodes if node.op == "get_attr"}
        self.observer_of: dict[Node, Any] = {}  # by the node that makes levels
        self.weights: dict[Node, Any] = {}  # the levels of parameters, by the node that reads one
        self.reserved: list[str] = []  # names of attributes that are only there to be counted
        self.put: set[str] = set()  # the paths of modules that are quantized already

    # ---------------------------------------------------------------- quantize and dequantize

    def mark(self) -> None:
        """Put `quantize_per_tensor` and `dequantize` in the place of each observer."""
        for node in list(self.graph.nodes):
            if node.op != "call_module" or not node.target.startswith("activation_post_process_"):
                continue
            observer = self.modules[node.target]
            if node.name in self.model.meta["weights"]:
                self._take_weight(node, observer)
                continue
            if getattr(observer, "is_dynamic", False) or observer.dtype is not dtypes.quint8:
                node.replace_all_uses_with(node.args[0])
                self.graph.erase_node(node)
                continue
            prefix = self._prefix(node)
            scale, zero_point = observer.calculate_qparams()
            with self.graph.inserting_before(node):
                numbers = [
                    self._attribute(f"{prefix}_{key}_", value)
                    for key, value in (("scale", ops.tensor(float(scale))), ("zero_point", ops.tensor(int(zero_point))))
                ]
                levels = self.graph.call_function(quantize_per_tensor, (node.args[0], *numbers, observer.dtype))
                back = self.graph.call_method("dequantize", (levels,))
            self.observer_of[levels] = observer
            node.replace_all_uses_with(back)
            self.graph.erase_node(node)

    def _take_weight(self, node: Node, observer: Any) -> None:
        """Keep the levels of a parameter. torch names a scale and a zero point for it, which it drops at the end."""
        source = node.args[0]
        self.weights[source] = levels_of(self.model, source, observer)
        prefix = self._path(next(iter(node.users)))
        for key in ("scale", "zero_point"):
            name = self._free(f"{prefix}_{key}_")
            self.model.register_buffer(name, ops.tensor(0))
            self.reserved.append(name)
        node.replace_all_uses_with(source)
        self.graph.erase_node(node)

    def _path(self, node: Node) -> str:
        return self.model.meta["places"].get(node.name, "").replace(".", "_")

    def _prefix(self, node: Node) -> str:
        source, qconfigs = node.args[0], self.model.meta["qconfigs"]
        is_input = qconfigs.get(source.name) is None
        shown = next(iter(node.users)) if is_input else source
        return self._path(shown) + ("_input" if is_input else "")

    def _free(self, prefix: str) -> str:
        place = 0
        while hasattr(self.model, f"{prefix}{place}"):
            place += 1
        return f"{prefix}{place}"

    def _attribute(self, prefix: str, value: Any) -> Node:
        name = self._free(prefix)
        self.model.register_buffer(name, value)
        return self.graph.get_attr(name)

    # ---------------------------------------------------------------- operators of levels

    def lower(self) -> None:
        """Let each call between `dequantize` and `quantize_per_tensor` work on levels, where there is an operator for it."""
        for node in list(self.graph.nodes):
            kind = own_kind(node, self.modules)
            word = "weighted" if node.op == "call_module" and node.target in self.put else kind_of(kind)
            if word == "weighted" and self._is_dynamic(node):
                self._swap_dynamic(node)
            elif (word in ("weighted", "own") or kind is nn.Softmax) and node.op == "call_module":
                self._lower_module(node)
            elif (
                word in ("dynamic", "embedding")
                and node.op == "call_module"
                and getattr(self.modules[node.target], "qconfig", None) is not None
            ):
                mapping = get_default_dynamic_quant_module_mappings()
                self._put(node.target, mapping[kind].from_float(self.modules[node.target]))
            elif word == "binary":
                self._lower_binary(node)
            elif word == "functional":
                self._lower_product(node)
            elif word == "own" and kind in FUNCTIONS:
                self._lower_function(node, FUNCTIONS[kind])
            elif word in ("shared", "fixed", "own"):
                self._lower_shared(node)
            elif word == "info" and _is_back(node.args[0]):
                node.replace_input_with(node.args[0], node.args[0].args[0])

    def _put(self, path: str, module: Any) -> None:
        parent, _, name = path.rpartition(".")
        self.model.get_submodule(parent)._modules[name] = module
        self.modules[path] = module
        self.put.add(path)

    def _is_dynamic(self, node: Node) -> bool:
        qconfig = getattr(self.modules[node.target], "qconfig", None)
        return qconfig is not None and bool(getattr(qconfig.activation(), "is_dynamic", False))

    def _swap_dynamic(self, node: Node) -> None:
        module = self.modules[node.target]
        kind = DynamicLinearReLU if isinstance(module, nni.LinearReLU) else DynamicLinear
        self._put(node.target, kind.from_float(module))

    def _levels_after(self, node: Node) -> Node | None:
        """The node that makes levels of this one's result, if that is all that is done with it."""
        after = next(iter(node.users)) if len(node.users) == 1 else None
        return after if after in self.observer_of else None

    def _lower_module(self, node: Node) -> None:
        after, source, module = self._levels_after(node), node.args[0], self.modules[node.target]
        kind = Softmax if type(module) is nn.Softmax else DEFAULT_STATIC_QUANT_MODULE_MAPPINGS.get(type(module))
        if after is None or not _is_back(source):
            return
        if node.target not in self.put:
            if kind is None or getattr(module, "qconfig", None) is None:
                return
            module.activation_post_process = self.observer_of[after]
            self._put(node.target, kind.from_float(module))
        node.replace_input_with(source, source.args[0])
        self._drop(after, node)

    def _drop(self, levels: Node, by: Node) -> None:
        """Take a node that makes levels away: `by` gives them."""
        numbers = levels.args[1:3]
        levels.replace_all_uses_with(by)
        self.graph.erase_node(levels)
        self._forget(numbers)

    def _forget(self, numbers: Any) -> None:
        for n in numbers:
            if isinstance(n, Node) and not n.users:
                self.graph.erase_node(n)
                delattr(self.model, n.target)

    def _lower_shared(self, node: Node) -> None:
        """A call that works on levels as it is."""
        after = self._levels_after(node)
        inputs = [n for n in node.all_input_nodes if _is_back(n)]
        if after is None or not inputs or not _is_back(node.all_input_nodes[0]):
            return
        if node.target is ops.cat and len(inputs) != len(node.all_input_nodes):
            return
        for n in inputs:
            node.replace_input_with(n, n.args[0])
        self._drop(after, node)

    def _lower_binary(self, node: Node) -> None:
        relu = self._relu_after(node)
        last = node if relu is None else relu
        after = self._levels_after(last)
        tensors = [a for a in node.args if isinstance(a, Node)]
        if (
            after is None
            or not all(_is_back(a) for a in tensors)
            or (relu is not None and BINARY[node.target] == "matmul")
        ):
            return
        function = OPERATORS[BINARY[node.target] + ("" if relu is None else "_relu")]
        arguments = [a.args[0] if isinstance(a, Node) else a for a in node.args[:2]]
        numbers = after.args[1:3] if len(tensors) == 2 else ()
        with self.graph.inserting_before(after):
            made = self.graph.call_function(function, (*arguments, *numbers))
        self._replace(after, made, [last, node] if relu is not None else [node])

    def _lower_product(self, node: Node) -> None:
        """A call with a weight, and the relu after it."""
        weight, source = weight_of(node), node.args[0] if node.args else node.kwargs.get("input")
        relu = self._relu_after(node)
        after = self._levels_after(relu or node)
        is_dynamic = node.name in self.model.meta["dynamic"]
        if weight not in self.weights or not (is_dynamic or (after is not None and _is_back(source))):
            return
        packed = packed_product(node, self.model, self.weights[weight])
        if packed is None:
            return
        name = packed[0] + ("" if relu is None else "_relu") + ("_dynamic" if is_dynamic else "")
        with self.graph.inserting_before(node):
            holder = self.graph.get_attr(packed_attribute(self.model, self._path(node), packed[1]))
        numbers: Any = (reduces_range(),) if after is None or is_dynamic else after.args[1:3]
        for n in numbers:
            if isinstance(n, Node):
                node.prepend(n)
        node.target, node.kwargs = OPERATORS[name], {}
        levels: Any = source
        node.args = (source if is_dynamic else levels.args[0], holder, *numbers)
        for n in (relu, None if is_dynamic else after):
            if n is not None:
                n.replace_all_uses_with(node)
                self.graph.erase_node(n)

    def _relu_after(self, node: Node) -> Node | None:
        relu = next(iter(node.users)) if len(node.users) == 1 else None
        return relu if relu is not None and relu.op != "call_method" and own_kind(relu, self.modules) in RELUS else None

    def _lower_function(self, node: Node, name: str) -> None:
        after, source = self._levels_after(node), node.args[0]
        if after is None or not _is_back(source):
            return
        keywords = {k: v for k, v in node.kwargs.items() if k not in SKIPPED[name]}
        numbers = dict(zip(("output_scale", "output_zero_point"), after.args[1:3], strict=True))
        with self.graph.inserting_before(after):
            made = self.graph.call_function(OPERATORS[name], (source.args[0], *node.args[1:]), {**keywords, **numbers})
        self._replace(after, made, [node])

    def _replace(self, levels: Node, made: Node, before: list[Node]) -> None:
        numbers = levels.args[1:3]
        levels.replace_all_uses_with(made)
        self.graph.erase_node(levels)
        for n in before:
            self.graph.erase_node(n)
        self._forget(numbers)

    # ---------------------------------------------------------------- what is left over

    def clean(self) -> None:
        """Take away what has no use any more."""
        for node in reversed(list(self.graph.nodes)):
            if _is_back(node) and not node.users:
                self.graph.erase_node(node)
        for node in reversed(list(self.graph.nodes)):
            if node.op == "get_attr" and not node.users:
                self.graph.erase_node(node)
        read = {node.target for node in self.graph.nodes if node.op == "get_attr"}
        for path in {node.target for node in self.weights} | self.read_before - read:
            if path not in read:
                _drop_attribute(self.model, path)
        for name in self.reserved:
            delattr(self.model, name)
        for name in [n for n in self.model._modules if n.startswith("activation_post_process_")]:
            delattr(self.model, name)
        self.model.delete_all_unused_submodules()
        for module in self.model.modules():
            module.__dict__.pop("qconfig", None)
        self.model.meta.clear()
        self.model.recompile()


def _drop_attribute(model: GraphModule, path: str) -> None:
    holder, _, name = path.rpartition(".")
    if hasattr(model.get_submodule(holder), name):
        delattr(model.get_submodule(holder), name)


def _is_back(node: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_method" and node.target == "dequantize"


SKIPPED = {
    **dict.fromkeys(("hardswish", "elu"), ("inplace",)),
    **dict.fromkeys(("leaky_relu", "layer_norm"), ()),
    "instance_norm": ("running_mean", "running_var", "use_input_stats", "momentum"),
}
"""Options of functions that the operators of levels do not have."""
