"""`prepare_fx`: a traced model with observers, or modules that round, after each result that will be quantized."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

from ...core.tensor import dtype as dtypes
from ...nn import functional as F
from ...nn.modules.module import Module
from ...nn.quantization.mappings import DEFAULT_QAT_MODULE_MAPPINGS
from ...nn.quantization.qconfig_mapping import FIXED, QConfigMapping
from ...nn.quantization.quantize import _DEPRECATED, swap_module
from ...nn.quantization.range_observers import FixedQParamsObserver
from .._symbolic_trace import Tracer
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .backend import check_backend
from .functional import weight_of
from .fuse import fuse
from .kinds import DYNAMIC, RELUS, kind_of, own_kind

__all__ = ["fuse_fx", "prepare_fx", "prepare_qat_fx"]


_PAIRS = ("binary", "functional")  # calls that take in a relu after them


class _Tracer(Tracer):
    """Keeps torch's layers whole, and those that the user names; remembers in which module each call was."""

    def __init__(self, names: Any = (), kinds: Any = ()) -> None:
        super().__init__()
        self.names, self.kinds = set(names), tuple(kinds)
        self.path = [""]
        self.places: dict[str, str] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        is_named = module_qualified_name in self.names or isinstance(m, self.kinds)
        return is_named or super().is_leaf_module(m, module_qualified_name)

    def call_module(self, m: Module, forward: Any, args: tuple, kwargs: dict) -> Any:
        self.path.append(self.path_of_module(m))
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.path.pop()

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        node = super().create_node(*args, **kwargs)
        self.places[node.name] = self.path[-1]
        return node


def _traced(model: Any, config: Any) -> GraphModule:
    if not isinstance(model, Module):
        raise ValueError("Rushlight quantizes modules: expected a torch.nn.Module, got " + type(model).__name__)
    names, kinds = _not_traced(config)
    tracer = _Tracer(names, kinds)
    graph = tracer.trace(model)
    made = GraphModule(model, graph)
    made.meta["places"] = tracer.places
    for name in _preserved(config):
        setattr(made, name, getattr(model, name))
    return made


def _not_traced(config: Any) -> tuple[Any, Any]:
    if config is None:
        return (), ()
    table = config if isinstance(config, dict) else config.to_dict()
    known = {"non_traceable_module_name", "non_traceable_module_class", "preserved_attributes"}
    for key, value in table.items():
        if key not in known and value:
            raise NotImplementedError(f"prepare_fx: {key} of prepare_custom_config is not implemented")
    return table.get("non_traceable_module_name", ()), table.get("non_traceable_module_class", ())


def _preserved(config: Any) -> Any:
    table = {} if config is None else config if isinstance(config, dict) else config.to_dict()
    return table.get("preserved_attributes", ())


def fuse_fx(model: Any, fuse_custom_config: Any = None, backend_config: Any = None) -> GraphModule:
    """A traced copy of a model in evaluation mode, in which convolutions and linear layers have taken in what follows them.

    Args:
        fuse_custom_config: None.
        backend_config: None, or `get_native_backend_config()`.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    check_backend("fuse_fx", backend_config)
    made = _traced(copy.deepcopy(model), fuse_custom_config)
    fuse(made, False)
    made.delete_all_unused_submodules()
    return made


def prepare_fx(
    model: Any, qconfig_mapping: Any, example_inputs: Any, prepare_custom_config: Any = None, _equalization_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:  # fmt: skip
    """A traced copy of a model in evaluation mode that observes: call it with data, then `convert_fx`.

    Args:
        qconfig_mapping: a `QConfigMapping`, or a dict as its `to_dict` gives it.
        example_inputs: a tuple of inputs.
        prepare_custom_config: names and classes of modules that are not traced, names of attributes to keep.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    check_backend("prepare_fx", backend_config)
    if _equalization_config:
        raise NotImplementedError("prepare_fx: _equalization_config is not implemented")
    return _prepare(model, qconfig_mapping, prepare_custom_config, False)


def prepare_qat_fx(
    model: Any, qconfig_mapping: Any, example_inputs: Any, prepare_custom_config: Any = None, backend_config: Any = None
) -> GraphModule:
    """A traced copy of a model in training mode whose weights and results are rounded: train it, then `convert_fx`.

    Args:
        qconfig_mapping: a `QConfigMapping`, or a dict as its `to_dict` gives it.
        example_inputs: a tuple of inputs.
        prepare_custom_config: names and classes of modules that are not traced, names of attributes to keep.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    check_backend("prepare_qat_fx", backend_config)
    return _prepare(model, qconfig_mapping, prepare_custom_config, True)


def _prepare(model: Any, mapping: Any, custom: Any, is_qat: bool) -> GraphModule:
    mapping = copy.deepcopy(QConfigMapping.from_dict(mapping) if isinstance(mapping, dict) else mapping)
    made = _traced(copy.deepcopy(model), custom)
    fuse(made, is_qat, mapping)
    observed = _Observed(made, mapping, is_qat)
    observed.insert()
    made.delete_all_unused_submodules()
    made.recompile()
    return made


class _Observed:
    """One model on its way: its nodes' `QConfig`s, and the observers."""

    def __init__(self, model: GraphModule, mapping: QConfigMapping, is_qat: bool):
        self.model, self.graph, self.is_qat = model, model.graph, is_qat
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.places = model.meta["places"]
        self.qconfigs: dict[str, Any] = {}
        self.kinds: dict[str, Any] = {}
        self.count = 0
        model.meta["weights"], model.meta["dynamic"] = (
            set(),
            set(),
        )  # observers of weights; calls that observe nothing else
        self._choose(mapping)
        if is_qat:
            self._swap()

    def _choose(self, mapping: QConfigMapping) -> None:
        calls: dict[Any, int] = {}
        named = self.model.meta["qconfigs"] = {}  # also of what is not quantized: names of scales depend on it
        for node in self.graph.nodes:
            kind = own_kind(node, self.modules)
            if kind is None:
                continue
            is_module = node.op == "call_module"
            path = node.target if is_module else self.places.get(node.name, "")
            holder = path.rpartition(".")[0] if is_module else path
            place = calls.get((holder, kind), 0)
            calls[holder, kind] = place + 1
            qconfig = mapping.of(path, kind, place)
            if is_module and (holder, kind, place) in mapping.module_name_object_type_order_qconfigs:
                qconfig = mapping.module_name_object_type_order_qconfigs[holder, kind, place]
            named[node.name] = qconfig
            self.kinds[node.name] = word = kind_of(kind)
            self.qconfigs[node.name] = qconfig if word and _fits(word, kind, qconfig) else None
            if is_module and word in ("weighted", "dynamic", "own", "fixed", "embedding"):
                for module in self.modules[node.target].modules():
                    module.qconfig = self.qconfigs[node.name]

    def _swap(self) -> None:
        for node in self.graph.nodes:
            if node.op == "call_module" and self.qconfigs.get(node.name) is not None:
                module = self.modules[node.target]
                if type(module) in DEFAULT_QAT_MODULE_MAPPINGS:
                    made = swap_module(module, DEFAULT_QAT_MODULE_MAPPINGS, {})
                    self.model.add_submodule(node.target, made)
                    self.modules[node.target] = made

    # ---------------------------------------------------------------- observers

    def insert(self) -> None:
        """Put the observers in."""
        tensors = self._tensors()
        for node in list(self.graph.nodes):
            qconfig, kind = self.qconfigs.get(node.name), self.kinds.get(node.name)
            if qconfig is None or kind in (None, "info", "embedding"):  # of embeddings the weight is observed only
                continue
            if kind == "functional" and getattr(weight_of(node), "op", None) != "get_attr":
                raise NotImplementedError(
                    f"prepare_fx: the weight of {node.name} ({node.target}) is computed, which is not quantized here; give it "
                    "the QConfig None in the QConfigMapping to leave it in float32, or use a parameter or a layer of torch.nn"
                )
            self._observe(node, kind, qconfig, tensors)

    def _tensors(self) -> set[Node]:
        """The nodes whose value is a tensor, as far as the graph tells."""
        found: set[Node] = set()
        for node in self.graph.nodes:
            is_info = kind_of(own_kind(node, self.modules)) == "info"
            takes = [n for n in node.all_input_nodes if n in found]
            if node.op in ("placeholder", "get_attr", "call_module") or (takes and not is_info):
                found.add(node)
        return found

    def _observe(self, node: Node, kind: str, qconfig: Any, tensors: set[Node]) -> None:
        observer = qconfig.activation()
        arguments = (node.args[:1] or (node.kwargs.get("input"),)) if kind != "binary" else node.args[:2]
        inputs = [n for n in _nodes_in(arguments) if n in tensors or self._is_observed(n)]
        if not inputs:
            return
        is_second_of_pair = kind == "shared" and node.op != "call_method" and own_kind(node, self.modules) in RELUS
        before = inputs[0]
        joins = is_second_of_pair and self.kinds.get(before.name) in _PAIRS and len(before.users) == 1
        joins = joins and before.name not in self.model.meta["dynamic"]
        if joins and self.qconfigs.get(before.name) is not None:
            self._after(node, self.qconfigs[before.name])
            return
        is_dynamic = bool(getattr(observer, "is_dynamic", False))
        for n in dict.fromkeys(inputs):
            if not self._is_observed(n):
                node.replace_input_with(n, self._input(n, qconfig, is_dynamic))
        if kind == "functional":
            self._observe_weight(node, qconfig)
            self.model.meta["dynamic"] |= {node.name} if is_dynamic else set()
        after = next(iter(node.users)) if len(node.users) == 1 else None
        is_first_of_pair = (
            kind in _PAIRS
            and after is not None
            and after.op != "call_method"
            and own_kind(after, self.modules) in RELUS
            and self.qconfigs.get(after.name) is not None
        )
        if is_first_of_pair or is_dynamic or kind == "dynamic":
            return
        made = self._after(node, qconfig)
        if kind == "shared" or (kind == "binary" and len(inputs) == 1):
            self._share(node, made)

    def _observe_weight(self, node: Node, qconfig: Any) -> None:
        weight, weights = weight_of(node), self.model.meta["weights"]
        made = next((user for user in weight.users if user.name in weights), None)
        if made is None:
            made = self._new(weight, qconfig.weight())
            weights.add(made.name)
        node.replace_input_with(weight, made)

    def _is_observed(self, node: Node) -> bool:
        return node.op == "call_module" and node.target.startswith("activation_post_process_")

    def _input(self, node: Node, qconfig: Any, is_dynamic: bool) -> Node:
        """The observer of a value that is observed as an input only: one that there is, or a new one."""
        for user in node.users:
            if self._is_observed(user) and bool(getattr(self.modules[user.target], "is_dynamic", False)) is is_dynamic:
                return user
        made = self._new(node, qconfig.activation())
        made.meta["is_input"] = True
        return made

    def _after(self, node: Node, qconfig: Any) -> Node:
        users = list(node.users)
        made = self._new(node, qconfig.activation())
        for user in users:
            user.replace_input_with(node, made)
        return made

    def _new(self, node: Node, observer: Any) -> Node:
        while hasattr(self.model, f"activation_post_process_{self.count}"):
            self.count += 1
        name = f"activation_post_process_{self.count}"
        self.model.add_module(name, observer)
        self.modules[name] = observer
        with self.graph.inserting_after(node):
            return self.graph.call_module(name, (node,))

    def _share(self, node: Node, made: Node) -> None:
        """Give the result, and all inputs, the observer of the first input."""
        inputs = [n for n in node.all_input_nodes if self._is_observed(n)]
        if not inputs:
            return
        first = self.modules[inputs[0].target]
        for n in (*inputs[1:], made):
            before = self.modules[n.target]
            for name in [k for k, m in self.modules.items() if m is before]:
                setattr(self.model, name, first)
                self.modules[name] = first


def _nodes_in(arguments: Any) -> list[Node]:
    found: list[Node] = []
    map_arg(arguments, found.append)  # type: ignore[arg-type]
    return found


def _fits(word: str, kind: Any, qconfig: Any) -> bool:
    """Whether the native backend can do what a `QConfig` asks for; if not, torch leaves the call in float32."""
    if qconfig is None or word == "info":
        return word == "info"
    observer = qconfig.activation()
    is_dynamic, d = bool(getattr(observer, "is_dynamic", False)), getattr(observer, "dtype", None)
    if word == "embedding":
        return d is dtypes.float32
    weight = None if inspect.isclass(qconfig.weight) and qconfig.weight is type(NotImplemented) else qconfig.weight
    weight_type = getattr(weight(), "dtype", None) if callable(weight) else None
    if d is not dtypes.quint8 or (is_dynamic and word not in ("weighted", "dynamic", "functional")):
        return False
    if word == "dynamic":
        return is_dynamic and kind in DYNAMIC
    if word == "weighted":
        if "ConvTranspose" in kind.__name__ and hasattr(weight() if weight else None, "ch_axis"):
            raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")
        return weight_type is dtypes.qint8 and (not is_dynamic or "Linear" in kind.__name__)
    if word == "functional":
        return weight_type is dtypes.qint8 and (not is_dynamic or kind is F.linear)
    if kind in FIXED:
        inner = getattr(observer, "activation_post_process", observer)
        wanted = FIXED[kind]()
        return isinstance(inner, FixedQParamsObserver) and (float(inner.scale), int(inner.zero_point)) == (
            float(wanted.scale), int(wanted.zero_point),
        )  # fmt: skip
    if "LayerNorm" in getattr(kind, "__name__", "") or getattr(kind, "__name__", "") == "layer_norm":
        return weight_type is dtypes.float32
    return True
