"""`convert`: a copy of a model with observers whose layers are quantized; `quantize` and `quantize_qat`, which do all steps."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ..utils.parametrize import type_before_parametrizations
from .intrinsic import _FusedModule
from .mappings import get_default_static_quant_module_mappings
from .prepare import prepare, prepare_qat
from .quantize import _DEPRECATED, remove_qconfig, swap_module

__all__ = ["convert", "get_observer_dict", "quantize", "quantize_qat"]


def convert(
    module: Any, mapping: dict[Any, Any] | None = None, inplace: bool = False, remove_qconfig: bool = True,
    is_reference: bool = False, convert_custom_config_dict: dict[str, Any] | None = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:  # fmt: skip
    """A copy of the model in which each layer with a `qconfig` and a class in `mapping` is the quantized one.

    Weights are rounded here; results have the scale and zero point that their observers chose.

    Args:
        mapping: the quantized class of each class; default: `get_default_static_quant_module_mappings()`.
        inplace: change the model itself.
        remove_qconfig: take away `qconfig`, observers and their hooks.
        convert_custom_config_dict: {"observed_to_quantized_custom_module_class": {class: class with from_observed}}.
        use_precomputed_fake_quant: weights have been observed.
    Raises:
        NotImplementedError: reference modules, as in `convert(nn.ReLU(), is_reference=True)`.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    if is_reference:
        raise NotImplementedError("convert: reference modules of quantization are not implemented")
    if not inplace:
        module = copy.deepcopy(module)
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    custom = (convert_custom_config_dict or {}).get("observed_to_quantized_custom_module_class", {})
    _swap(module, mapping, custom, use_precomputed_fake_quant)
    if remove_qconfig:
        _clean(module)
    return module


_clean = remove_qconfig


def _swap(module: Any, mapping: dict[Any, Any], custom: dict[Any, Any], is_precomputed: bool) -> None:
    for name, child in list(module.named_children()):
        if not isinstance(child, _FusedModule) and type_before_parametrizations(child) not in custom:
            _swap(child, mapping, custom, is_precomputed)
        module._modules[name] = swap_module(child, mapping, custom, is_precomputed)


def quantize(
    model: Any, run_fn: Any, run_args: Any, mapping: dict[Any, Any] | None = None, inplace: bool = False
) -> Any:
    """A copy of the model, quantized: `prepare`, `run_fn(model, *run_args)`, which shows it data, and `convert`.

    Args:
        mapping: the quantized class of each class; default: `get_default_static_quant_module_mappings()`.
        inplace: change the model itself.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """A copy of the model, trained with rounded weights and quantized: `prepare_qat`, `run_fn(model, *run_args)`, `convert`.

    Args:
        inplace: change the model itself.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def get_observer_dict(mod: Any, target_dict: dict[str, Any], prefix: str = "") -> None:
    """Put the observers of a model into a dict, by their names in it."""
    if hasattr(mod, "activation_post_process"):
        target_dict[(prefix + "." if prefix else "") + "activation_post_process"] = mod.activation_post_process
    for name, child in mod.named_children():
        get_observer_dict(child, target_dict, f"{prefix}.{name}" if prefix else name)
