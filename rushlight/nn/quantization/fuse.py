"""`fuse_modules`: layers one after the other become one, in a model in evaluation mode or for training with rounded weights."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .. import modules as nn
from ..utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..utils.parametrize import type_before_parametrizations
from . import intrinsic as nni

__all__ = [
    "fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_known_modules", "fuse_linear_bn", "fuse_modules",
    "fuse_modules_qat", "get_fuser_method",
]  # fmt: skip

_CONV_BN = {nn.Conv1d: nni.ConvBn1d, nn.Conv2d: nni.ConvBn2d, nn.Conv3d: nni.ConvBn3d}
_CONV_BN_RELU = {nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d}
_CONV_RELU = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}


def _check_norm(bn: Any, features: int, layer: str, kind: str) -> None:
    if bn.num_features != features:
        raise AssertionError(f"Output {layer} must match num_features of {kind}")
    if not bn.affine:
        raise AssertionError(f"Only support fusing {kind} with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError(f"Only support fusing {kind} with tracking_running_stats set to True")


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution with a batch normalization in it; for training the two as one module.

    Raises:
        AssertionError: one is in training, the other not, as in
            `fuse_conv_bn(False, nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1).eval())`.
    """
    if conv.training != bn.training:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")
    if not is_qat:
        return fuse_conv_bn_eval(conv, bn)
    _check_norm(bn, conv.out_channels, "channel of Conv2d", "BatchNorm2d")
    if type(conv) not in _CONV_BN:
        raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn)}")
    return _CONV_BN[type(conv)](conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """A convolution with a batch normalization in it, and a ReLU; for training the three as one module.

    Raises:
        AssertionError: they are not in the same mode, as in
            `fuse_conv_bn_relu(False, nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1).eval(), nn.ReLU())`.
    """
    if not conv.training == bn.training == relu.training:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")
    if is_qat:
        _check_norm(bn, conv.out_channels, "channel of Conv2d", "BatchNorm2d")
        if type(conv) not in _CONV_BN_RELU:
            raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn, relu)}")
        return _CONV_BN_RELU[type(conv)](conv, bn, relu)
    if type(conv) not in _CONV_RELU:
        raise NotImplementedError(f"Cannot fuse eval modules: {(conv, bn, relu)}")
    return _CONV_RELU[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """A linear layer with a batch normalization in it; for training the two as one module.

    Raises:
        AssertionError: one is in training, the other not, as in
            `fuse_linear_bn(False, nn.Linear(1, 1), nn.BatchNorm1d(1).eval())`.
    """
    if linear.training != bn.training:
        raise AssertionError("Linear and BN both must be in the same mode (train or eval).")
    if not is_qat:
        return fuse_linear_bn_eval(linear, bn)
    _check_norm(bn, linear.out_features, "features of Linear", "BatchNorm1d")
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """A transposed convolution with a batch normalization in it.

    Raises:
        AssertionError: one is in training, the other not, as in
            `fuse_convtranspose_bn(False, nn.ConvTranspose2d(1, 1, 1), nn.BatchNorm2d(1).eval())`.
    """
    if convt.training != bn.training:
        raise AssertionError("ConvTranspose and BN both must be in the same mode (train or eval).")
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _as_one(kind: Any) -> Callable:
    return lambda is_qat, first, second: kind(first, second)


_METHODS: dict[tuple, Callable] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn,
    (nn.Conv1d, nn.BatchNorm1d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn,
    (nn.Conv2d, nn.BatchNorm2d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn,
    (nn.Conv3d, nn.BatchNorm3d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv1d, nn.ReLU): _as_one(nni.ConvReLU1d),
    (nn.Conv2d, nn.ReLU): _as_one(nni.ConvReLU2d),
    (nn.Conv3d, nn.ReLU): _as_one(nni.ConvReLU3d),
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _as_one(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _as_one(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _as_one(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}


def get_fuser_method(op_list: tuple, additional_fuser_method_mapping: dict[tuple, Callable] | None = None) -> Callable:
    """The function (is_qat, *layers) that makes one module of layers of these classes.

    Raises:
        AssertionError: there is none, as in `get_fuser_method((nn.ReLU, nn.Linear))`.
    """
    found = {**_METHODS, **(additional_fuser_method_mapping or {})}.get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found


def fuse_known_modules(
    mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: dict[tuple, Callable] | None = None
) -> list[Any]:
    """The layers as one module, and `nn.Identity` in place of each but the first. Hooks of the two ends move to it."""
    kinds = tuple(type_before_parametrizations(m) for m in mod_list)
    fused = get_fuser_method(kinds, additional_fuser_method_mapping)(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = [nn.Identity() for _ in mod_list[1:]]
    for identity in rest:
        identity.training = mod_list[0].training
    return [fused, *rest]


def fuse_modules(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """A copy of the model in which listed layers have become one: convolution and batch norm, ReLU after them, ...

    The first layer of a list gives way to the fused one, the others to `nn.Identity`.

    Args:
        modules_to_fuse: a list of names of submodules, such as ["conv", "bn", "relu"], or a list of such lists.
        inplace: change the model itself.
        fuser_func: (modules, is_qat, additional methods) -> modules, which does it.
        fuse_custom_config_dict: {"additional_fuser_method_mapping": {classes: (is_qat, *layers) -> module}}.
    Raises:
        AssertionError: no way to fuse such layers, as in `fuse_modules(nn.Sequential(nn.ReLU(), nn.ReLU()), ["0", "1"])`.

    >>> fuse_modules(nn.Sequential(nn.Linear(2, 3), nn.ReLU()).eval(), ["0", "1"])
    Sequential(
      (0): LinearReLU(
        (0): Linear(in_features=2, out_features=3, bias=True)
        (1): ReLU()
      )
      (1): Identity()
    )
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """`fuse_modules` for a model that is to be trained: batch norms stay layers, in one module with their convolution.

    Raises:
        AssertionError: no way to fuse such layers, as in
            `fuse_modules_qat(nn.Sequential(nn.ReLU(), nn.ReLU()), ["0", "1"])`.
    """
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)


def _fuse(model: Any, groups: Any, is_qat: bool, inplace: bool, fuser: Any, config: dict[str, Any] | None) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    if all(isinstance(name, str) for name in groups):
        groups = [groups]
    more = (config or {}).get("additional_fuser_method_mapping", {})
    for names in groups:
        made = fuser([_at(model, name) for name in names], is_qat, more)
        for name, module in zip(names, made, strict=True):
            parent, _, own = name.rpartition(".")
            setattr(_at(model, parent) if parent else model, own, module)
    return model


def _at(model: Any, name: str) -> Any:
    for part in name.split("."):
        model = getattr(model, part)
    return model
