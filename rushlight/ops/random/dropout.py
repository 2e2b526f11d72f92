"""Dropout, of elements and of channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import random as streams
from ...core.dispatch.extension_points import training_observer
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import check_flag, flag_type, type_name
from ...core.tensor.tensor import Tensor, constant, type_word, wrap
from ..creation.arguments import backend_like
from .sample import drawn


@primitive(public=False, differentiable=False, draws="shape")
def _dropout_mask(input, /, p):
    return streams.dropout_mask(None, input, p)


@primitive(public=False, differentiable=False, draws="shape")
def _feature_dropout_mask(input, /, p):
    return streams.feature_dropout_mask(None, input, p)


def _check_p(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _check_floats(input: Tensor) -> None:
    if input.dtype.category < 2:
        raise RuntimeError(
            f"dropout: result type Float can't be cast to the desired output type {type_word(input.dtype)}"
        )


def _check_input(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):  # functions of nn.functional go on to those of torch, whose error it is
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")


def _dropped(name: str, input: Tensor, p: float, training: bool, inplace: bool, mask: Any) -> Tensor:
    _check_p(p)
    _check_input(name, input)
    if training is not True and training is not False:
        raise flag_type(name, "train", training, 3)
    if not training or p == 0.0 or not input._array.size:
        return input
    if p == 1.0 and not input.dtype.is_floating_point:
        zero = constant(np.zeros((), input.dtype.numpy))
        return input.mul_(zero) if inplace else input * zero
    _check_floats(input)
    if (observer := training_observer.value) is not None:
        observer.acts_by_mode(None)
    return input.mul_(mask(input, p)) if inplace else input * mask(input, p)


@composite(name="dropout", functional=True)
def dropout(input, p=0.5, training=True, inplace=False):
    """Zero each element with probability `p` and scale the others by 1 / (1 - p).

    Args:
        training: False leaves the input as it is.
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        ValueError: `p` is outside [0, 1], as in `dropout(ones(2), 1.5, True)`.

    >>> _ = manual_seed(0)
    >>> dropout(ones(4), 0.5, True)
    tensor([0., 0., 2., 0.])
    """
    return _dropped("dropout", input, p, training, inplace, _dropout_mask)


@composite(name="feature_dropout", functional=False)
def feature_dropout(input, p=0.5, training=True, inplace=False):
    """Zero each channel with probability `p` and scale the others by 1 / (1 - p).

    Args:
        training: False leaves the input as it is.
        inplace: whether to write the result into `input`.
    Shape: (N, C, *) -> (N, C, *)
    Raises:
        ValueError: `p` is outside [0, 1], as in `feature_dropout(ones(2, 2), 1.5, True)`.

    >>> feature_dropout(ones(1, 2, 2), 0.0, True)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    return _dropped("feature_dropout", input, p, training, inplace, _feature_dropout_mask)


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, feature: bool) -> Tensor:
    name = "feature_alpha_dropout" if feature else "alpha_dropout"
    _check_p(p)
    _check_input(name, input)
    check_flag(name, "train", training, 3)
    if not training or p == 0.0 or not input._array.size:
        return input
    if (observer := training_observer.value) is not None:
        observer.acts_by_mode(None)
    if p == 1.0:
        zeros = constant(np.zeros((), input.dtype.numpy))
        return input.mul_(zeros) if inplace else input * zeros
    _check_floats(input)
    where = backend_like(input)
    masks = drawn("alpha_dropout", streams.alpha_dropout_masks, None, input._array, p, feature, where=where)
    factor, summand = map(wrap, masks)
    return input.mul_(factor).add_(summand) if inplace else input * factor + summand


@composite(functional=True)
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of self-normalising activations (SELU).

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Args:
        training: False leaves the input as it is.
        inplace: whether to write the result into `input`.
    Shape: (*) -> (*)
    Raises:
        ValueError: `p` is outside [0, 1], as in `alpha_dropout(ones(2), 1.5, True)`.

    >>> alpha_dropout(ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return _alpha(input, p, training, inplace, False)


@composite(functional=True)
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels.

    Args:
        training: False leaves the input as it is.
        inplace: whether to write the result into `input`.
    Shape: (N, C, *) -> (N, C, *)
    Raises:
        ValueError: `p` is outside [0, 1], as in `feature_alpha_dropout(ones(2, 2), 1.5, True)`.
    """
    return _alpha(input, p, training, inplace, True)
