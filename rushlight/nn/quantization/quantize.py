"""`quantize_dynamic`: a copy of a model whose linear and recurrent layers have 8-bit weights."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

from ...core.tensor import dtype as dtypes
from .. import modules as nn
from ..utils.parametrize import type_before_parametrizations
from .cells import GRUCell, LSTMCell, RNNCell
from .fake_quantize import FakeQuantizeBase
from .intrinsic import _FusedModule
from .linear import Linear
from .observers import ObserverBase, QConfig, default_dynamic_qconfig
from .recurrent import GRU, LSTM
from .static.embedding import Embedding, EmbeddingBag

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "get_default_dynamic_quant_module_mappings",
    "observer_forward_hook",
    "observer_forward_pre_hook",
    "propagate_qconfig_",
    "quantize_dynamic",
    "remove_qconfig",
    "swap_children",
    "swap_module",
]

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Linear: Linear,
    nn.linear.NonDynamicallyQuantizableLinear: Linear,
    nn.LSTM: LSTM,
    nn.GRU: GRU,
    nn.LSTMCell: LSTMCell,
    nn.RNNCell: RNNCell,
    nn.GRUCell: GRUCell,
    nn.EmbeddingBag: EmbeddingBag,
    nn.Embedding: Embedding,
}
_BY_DEFAULT = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """The quantized class of each class of layers that can be quantized."""
    return dict(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


_DEPRECATED = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. \nFor migrations of users: \n"
    "1. Eager mode quantization (torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please migrate to "
    "use torchao eager mode quantize_ API instead \n"
    "2. FX graph mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,torch.ao.quantization.quantize_fx.convert_fx, "
    "please migrate to use torchao pt2e quantization API instead (prepare_pt2e, convert_pt2e) \n"
    "3. pt2e quantization has been migrated to torchao (https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \n"
    "see https://github.com/pytorch/ao/issues/2259 for more details"
)


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: Any = dtypes.qint8, mapping: dict[Any, Any] | None = None,
    inplace: bool = False,
) -> Any:  # fmt: skip
    """A copy of the model in evaluation mode, whose layers named by `qconfig_spec` have weights of 8-bit levels.

    Weights are rounded here, by one scale for each; activations in each call. A layer that is itself the model stays as it
    is, as in torch. Warns, as torch does, that torch will remove this function.

    Args:
        qconfig_spec: a set of layer classes or of names of submodules; or a dict of such to `QConfig`; None: all classes that
            can be quantized.
        dtype: of the weights: qint8.
        mapping: the quantized class of each class; default: `get_default_dynamic_quant_module_mappings()`.
        inplace: change the model itself.
    Raises:
        ValueError: no such type of weights, as in `quantize_dynamic(nn.ReLU(), dtype=float32)`.
        NotImplementedError: torch has weights of that type, as in `quantize_dynamic(nn.ReLU(), dtype=float16)`.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    if not isinstance(qconfig_spec, dict):
        _check_type(dtype, qconfig_spec)
        qconfig_spec = dict.fromkeys(_BY_DEFAULT if qconfig_spec is None else qconfig_spec, default_dynamic_qconfig)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    _convert(model, get_default_dynamic_quant_module_mappings() if mapping is None else mapping, mapping is None)
    remove_qconfig(model)
    return model


def _check_type(dtype: Any, spec: Any) -> None:
    if dtype in (dtypes.float16, dtypes.quint8):
        raise NotImplementedError(f"quantize_dynamic: weights of {dtype} are not implemented, only of torch.qint8")
    if dtype is not dtypes.qint8:
        if spec is not None:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")


def propagate_qconfig_(module: Any, qconfig_dict: dict[Any, Any] | None = None) -> None:
    """Give each module the attribute `qconfig` of its name, else of its class, else of the module that it is in."""
    _propagate(module, qconfig_dict or {}, None, "")


def _propagate(module: Any, table: dict[Any, Any], inherited: QConfig | None, prefix: str) -> None:
    qconfig = table.get(prefix, table.get(type_before_parametrizations(module), inherited))
    module.qconfig = getattr(module, "qconfig", qconfig)
    for name, child in module.named_children():
        _propagate(child, table, module.qconfig, f"{prefix}.{name}" if prefix else name)


def _convert(module: Any, mapping: dict[Any, Any], is_default: bool) -> None:
    for name, child in list(module.named_children()):
        if not isinstance(child, _FusedModule):
            _convert(child, mapping, is_default)
        module._modules[name] = swap_module(child, mapping, {})


def swap_children(module: Any, mapping: dict[Any, Any]) -> None:
    """Put the quantized layer of each layer in its place; fused modules are one."""
    for name, child in list(module.named_children()):
        if not isinstance(child, _FusedModule):
            swap_children(child, mapping)
        module._modules[name] = swap_module(child, mapping, {})


def observer_forward_hook(module: Any, input: Any, output: Any) -> Any:
    """The hook that shows a layer's result to its observer."""
    return module.activation_post_process(output)


def observer_forward_pre_hook(module: Any, input: Any) -> Any:
    """The hook that shows a layer's input to its observer."""
    return module.activation_post_process(input[0])


def swap_module(
    mod: Any, mapping: dict[Any, Any], custom_module_class_mapping: dict[Any, Any], use_precomputed_fake_quant: bool = False
) -> Any:  # fmt: skip
    """The quantized layer of a module whose class is in `mapping` and which has a `qconfig`, with its hooks; else `mod`."""
    if getattr(mod, "qconfig", None) is None:
        return mod
    kind = type_before_parametrizations(mod)
    if kind in custom_module_class_mapping:
        made = custom_module_class_mapping[kind].from_observed(mod)
    elif kind in mapping:
        make = mapping[kind].from_float
        takes = "use_precomputed_fake_quant" in inspect.signature(make).parameters
        made = make(mod, use_precomputed_fake_quant=use_precomputed_fake_quant) if takes else make(mod)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not observer_forward_hook:
            made.register_forward_hook(hook)
    return made


def remove_qconfig(module: Any) -> None:
    """Take away what `prepare` has given a model: the attributes `qconfig`, observers and their hooks."""
    for child in list(module.children()):
        remove_qconfig(child)
    module.__dict__.pop("qconfig", None)
    if isinstance(getattr(module, "activation_post_process", None), (ObserverBase, FakeQuantizeBase)):
        del module.activation_post_process
    for hooks, own in (
        (module._forward_hooks, observer_forward_hook), (module._forward_pre_hooks, observer_forward_pre_hook),
    ):  # fmt: skip
        for key in [k for k, hook in hooks.items() if hook is own]:
            del hooks[key]
