"""Layers of a traced model that become one: a convolution or linear layer, the batch norm and the ReLU after it."""

from __future__ import annotations

from typing import Any

from ...nn import modules as nn
from ...nn.quantization import intrinsic as nni
from ...nn.quantization.fuse import fuse_known_modules
from ..graph_module import GraphModule
from ..node import Node
from .kinds import RELUS, own_kind

__all__ = ["fuse"]

_NORMS = {
    nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d, nn.Linear: nn.BatchNorm1d,
    nn.ConvTranspose1d: nn.BatchNorm1d, nn.ConvTranspose2d: nn.BatchNorm2d, nn.ConvTranspose3d: nn.BatchNorm3d,
}  # fmt: skip
_BEFORE_RELU = {nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear, nn.BatchNorm2d, nn.BatchNorm3d}
FUSED_WITH_RELU = {
    nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d, nn.Linear: nni.LinearReLU,
}  # fmt: skip


def fuse(model: GraphModule, is_qat: bool, mapping: Any = None) -> None:
    """Make one module of each chain of layers, in place. mapping: a `QConfigMapping` that must agree for their classes."""
    modules = dict(model.named_modules(remove_duplicate=False))
    for node in list(model.graph.nodes):
        kind = own_kind(node, modules)
        if kind in _NORMS or kind in _BEFORE_RELU:
            chain = _chain(node, kind, modules, is_qat)
            if len(chain) > 1:
                _join(model, chain, modules, is_qat, mapping)
    model.recompile()


def _only_user(node: Node) -> Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _chain(node: Node, kind: Any, modules: dict[str, Any], is_qat: bool) -> list[Node]:
    chain = [node]
    after = _only_user(node)
    if after is not None and kind in _NORMS and own_kind(after, modules) is _NORMS[kind]:
        chain.append(after)
        after = _only_user(after)
    has_linear_norm = kind is nn.Linear and len(chain) == 2
    if after is not None and kind in _BEFORE_RELU and own_kind(after, modules) in RELUS and not has_linear_norm:
        chain.append(after)
    return chain


def _join(model: GraphModule, chain: list[Node], modules: dict[str, Any], is_qat: bool, mapping: Any) -> None:
    first, last = chain[0], chain[-1]
    layers = [modules[n.target] if n.op == "call_module" else nn.ReLU() for n in chain]
    for n, layer in zip(chain, layers, strict=True):
        if n.op == "call_function":
            layer.train(layers[0].training)
    fused = fuse_known_modules(layers, is_qat)[0]
    if mapping is not None and isinstance(fused, nni._FusedModule):
        _check(mapping, type(fused), [type(layer) for layer in layers])
    model.add_submodule(first.target, fused)
    modules[first.target] = fused
    last.replace_all_uses_with(first)
    for n in reversed(chain[1:]):
        model.graph.erase_node(n)


def _check(mapping: Any, fused: type, kinds: list[type]) -> None:
    table = mapping.object_type_qconfigs
    first = table.get(kinds[0])
    for kind in kinds[1:]:
        if table.get(kind) is not first:
            raise LookupError(
                f"During fusion, we need to specify the same qconfigs for all module types in {fused} offending type: {kind}"
            )
    if first is not None and fused not in table:
        table[fused] = first
