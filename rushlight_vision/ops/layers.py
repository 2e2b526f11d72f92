"""Blocks that many vision models are made of."""

import warnings
from collections.abc import Callable, Sequence
from typing import TypeAlias

import rushlight as torch
from rushlight import nn

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "ConvNormActivation",
    "FrozenBatchNorm2d",
    "Permute",
    "SqueezeExcitation",
]

Layer: TypeAlias = Callable[..., nn.Module]  # a class of modules, or a function that makes one


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization whose statistics, weight and bias stay as they are.

    Shape: (N, num_features, H, W) -> the same
    Raises:
        RuntimeError: the channels do not fit, as in `FrozenBatchNorm2d(2)(ones(1, 3, 1, 1))`.

    >>> FrozenBatchNorm2d(2)(ones(1, 2, 1, 1)).shape
    torch.Size([1, 2, 1, 1])
    """

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(num_features))
        self.register_buffer("bias", torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def _load_from_state_dict(self, state_dict, prefix, *args):
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x):
        names = ("weight", "bias", "running_mean", "running_var")
        weight, bias, mean, var = (getattr(self, name).reshape(1, -1, 1, 1) for name in names)
        scale = weight * (var + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)

    def __repr__(self):
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """A convolution, a norm and an activation; the latter two may be None. See `Conv2dNormActivation`."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size: int | Sequence[int] = 3,
        stride: int | Sequence[int] = 1,
        padding=None,
        groups=1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | Sequence[int] = 1,
        inplace=True,
        bias=None,
        conv_layer: Layer = nn.Conv2d,
    ):
        if padding is None:
            padding = _same_padding(kernel_size, dilation)
        if bias is None:
            bias = norm_layer is None
        layers: list[nn.Module] = [
            conv_layer(
                in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, groups=groups, bias=bias
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**_inplace(inplace)))
        super().__init__(*layers)
        self.out_channels = out_channels
        if type(self) is ConvNormActivation:
            warnings.warn(
                "Don't use ConvNormActivation directly, please use Conv2dNormActivation and Conv3dNormActivation "
                "instead.",
                stacklevel=2,
            )


def _same_padding(kernel_size, dilation):
    """The padding under which a stride of 1 keeps the size."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    dims = len(kernel_size) if isinstance(kernel_size, Sequence) else len(dilation)
    sizes, steps = ((v,) * dims if isinstance(v, int) else tuple(v) for v in (kernel_size, dilation))
    return tuple((size - 1) // 2 * step for size, step in zip(sizes, steps))


def _inplace(inplace):
    return {} if inplace is None else {"inplace": inplace}


class Conv2dNormActivation(ConvNormActivation):
    """nn.Conv2d, norm_layer(out_channels) and activation_layer(); the latter two may be None.

    padding=None keeps the size at stride 1; bias=None is a bias where there is no norm; inplace=None leaves that
    argument out of the activation's.

    Shape: (N, in_channels, H, W) -> (N, out_channels, H', W')

    >>> Conv2dNormActivation(3, 4)(ones(2, 3, 5, 5)).shape
    torch.Size([2, 4, 5, 5])
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size: int | Sequence[int] = 3,
        stride: int | Sequence[int] = 1,
        padding=None,
        groups=1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | Sequence[int] = 1,
        inplace=True,
        bias=None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            groups,
            norm_layer,
            activation_layer,
            dilation,
            inplace,
            bias,
            nn.Conv2d,
        )


class Conv3dNormActivation(ConvNormActivation):
    """As `Conv2dNormActivation`, over (N, C, D, H, W).

    Shape: (N, in_channels, D, H, W) -> (N, out_channels, D', H', W')

    >>> Conv3dNormActivation(3, 4)(ones(2, 3, 5, 5, 5)).shape
    torch.Size([2, 4, 5, 5, 5])
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size: int | Sequence[int] = 3,
        stride: int | Sequence[int] = 1,
        padding=None,
        groups=1,
        norm_layer: Layer | None = nn.BatchNorm3d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | Sequence[int] = 1,
        inplace=True,
        bias=None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            groups,
            norm_layer,
            activation_layer,
            dilation,
            inplace,
            bias,
            nn.Conv3d,
        )


class SqueezeExcitation(nn.Module):
    """Channels scaled by what two 1x1 convolutions make of their means (Hu et al., arXiv 1709.01507).

    Shape: (N, input_channels, H, W) -> the same

    >>> SqueezeExcitation(4, 2)(ones(1, 4, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    def __init__(
        self, input_channels, squeeze_channels, activation: Layer = nn.ReLU, scale_activation: Layer = nn.Sigmoid
    ):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def _scale(self, input):
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(squeezed))

    def forward(self, input):
        return self._scale(input) * input


class MLP(nn.Sequential):
    """Linear layers of these widths, each but the last followed by norm and activation, each by dropout.

    Shape: (*, in_channels) -> (*, hidden_channels[-1])

    >>> MLP(3, [4, 2])(ones(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        in_channels,
        hidden_channels,
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.ReLU,
        inplace=None,
        bias=True,
        dropout=0.0,
    ):
        layers: list[nn.Module] = []
        width = in_channels
        for hidden in hidden_channels[:-1]:
            layers.append(nn.Linear(width, hidden, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(hidden))
            layers.append(activation_layer(**_inplace(inplace)))
            layers.append(nn.Dropout(dropout, **_inplace(inplace)))
            width = hidden
        layers.append(nn.Linear(width, hidden_channels[-1], bias=bias))
        layers.append(nn.Dropout(dropout, **_inplace(inplace)))
        super().__init__(*layers)


class Permute(nn.Module):
    """`permute` as a module.

    Shape: (*) -> (*), reordered
    Raises:
        RuntimeError: the number of dimensions differs, as in `Permute([0])(ones(2, 3))`.

    >>> Permute([1, 0])(ones(2, 3)).shape
    torch.Size([3, 2])
    """

    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)
