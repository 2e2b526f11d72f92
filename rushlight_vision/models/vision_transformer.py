"""Vision transformer (Dosovitskiy et al., arXiv 2010.11929)."""

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import builder, set_option, weights_enum
from rushlight_vision.ops.layers import MLP, Conv2dNormActivation

__all__ = [
    "ViT_B_16_Weights",
    "ViT_B_32_Weights",
    "ViT_H_14_Weights",
    "ViT_L_16_Weights",
    "ViT_L_32_Weights",
    "VisionTransformer",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
]

_NORM = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """One convolution of a stem in place of the patch embedding."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Callable = nn.BatchNorm2d
    activation_layer: Callable = nn.ReLU


def _check(true, message):
    if not true:
        raise AssertionError(message)


class MLPBlock(MLP):
    """Two linear layers with GELU between."""

    _version = 2

    def __init__(self, in_dim, mlp_dim, dropout):
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.normal_(m.bias, std=1e-6)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Also files of version 1, which call the layers linear_1 and linear_2."""
        if local_metadata.get("version", 1) < 2:
            for i in range(2):
                for kind in ("weight", "bias"):
                    older = f"{prefix}linear_{i + 1}.{kind}"
                    if older in state_dict:
                        state_dict[f"{prefix}{3 * i}.{kind}"] = state_dict.pop(older)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class EncoderBlock(nn.Module):
    """Self-attention and an MLP, each with a norm before it and a shortcut around it.

    Shape: (N, L, hidden_dim) -> the same
    """

    def __init__(self, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer=_NORM):
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input):
        _check(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Learned positions, then `num_layers` blocks and a norm.

    Shape: (N, seq_length, hidden_dim) -> the same
    """

    def __init__(
        self,
        seq_length,
        num_layers,
        num_heads,
        hidden_dim,
        mlp_dim,
        dropout,
        attention_dropout,
        norm_layer=_NORM,
    ):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        arguments = (num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.layers = nn.Sequential(
            OrderedDict((f"encoder_layer_{i}", EncoderBlock(*arguments)) for i in range(num_layers))
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input):
        _check(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer over square patches of the image, with a class token in front.

    Shape: (N, 3, image_size, image_size) -> (N, num_classes)

    representation_size adds a tanh layer before the classifier; conv_stem_configs replaces the patch embedding.
    """

    def __init__(
        self,
        image_size,
        patch_size,
        num_layers,
        num_heads,
        hidden_dim,
        mlp_dim,
        dropout=0.0,
        attention_dropout=0.0,
        num_classes=1000,
        representation_size=None,
        norm_layer=_NORM,
        conv_stem_configs=None,
    ):
        super().__init__()
        _check(image_size % patch_size == 0, "Input shape indivisible by patch size!")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        if conv_stem_configs is None:
            self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        else:
            self.conv_proj = _conv_stem(conv_stem_configs, hidden_dim)
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.encoder = Encoder(
            self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
        )
        heads = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialize()

    def _initialize(self):
        proj = self.conv_proj
        if isinstance(proj, nn.Conv2d):
            fan_in = proj.in_channels * proj.kernel_size[0] * proj.kernel_size[1]
            nn.init.trunc_normal_(proj.weight, std=math.sqrt(1 / fan_in))
            nn.init.zeros_(proj.bias)
        else:
            nn.init.normal_(proj.conv_last.weight, mean=0.0, std=math.sqrt(2.0 / proj.conv_last.out_channels))
            nn.init.zeros_(proj.conv_last.bias)
        if self.representation_size is not None:
            layer = self.heads.pre_logits
            nn.init.trunc_normal_(layer.weight, std=math.sqrt(1 / layer.in_features))
            nn.init.zeros_(layer.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x):
        """Patches as a sequence: (N, 3, H, W) -> (N, H W / patch_size^2, hidden_dim)."""
        n, _, height, width = x.shape
        _check(height == self.image_size, f"Wrong image height! Expected {self.image_size} but got {height}!")
        _check(width == self.image_size, f"Wrong image width! Expected {self.image_size} but got {width}!")
        count = (height // self.patch_size) * (width // self.patch_size)
        return self.conv_proj(x).reshape(n, self.hidden_dim, count).permute(0, 2, 1)

    def forward(self, x: Tensor):
        x = self._process_input(x)
        token = self.class_token.expand(x.shape[0], -1, -1)
        x = self.encoder(torch.cat([token, x], dim=1))
        return self.heads(x[:, 0])


def _conv_stem(configs, hidden_dim):
    stem = nn.Sequential()
    channels = 3
    for i, layer in enumerate(configs):
        conv = Conv2dNormActivation(
            channels,
            layer.out_channels,
            layer.kernel_size,
            layer.stride,
            norm_layer=layer.norm_layer,
            activation_layer=layer.activation_layer,
        )
        stem.add_module(f"conv_bn_relu_{i}", conv)
        channels = layer.out_channels
    stem.add_module("conv_last", nn.Conv2d(channels, hidden_dim, kernel_size=1))
    return stem


def _take_size(weights, options):
    set_option(options, "image_size", weights.meta["min_size"][0])


def _vit(patch_size, num_layers, num_heads, hidden_dim, options):
    size = options.pop("image_size", 224)
    return VisionTransformer(size, patch_size, num_layers, num_heads, hidden_dim, 4 * hidden_dim, **options)


ViT_B_16_Weights = weights_enum("ViT_B_16_Weights", __name__)
ViT_B_32_Weights = weights_enum("ViT_B_32_Weights", __name__)
ViT_L_16_Weights = weights_enum("ViT_L_16_Weights", __name__)
ViT_L_32_Weights = weights_enum("ViT_L_32_Weights", __name__)
ViT_H_14_Weights = weights_enum("ViT_H_14_Weights", __name__)


@builder(ViT_B_16_Weights, prepare=_take_size)
def vit_b_16(**kwargs):
    """Base vision transformer on patches of 16x16."""
    return _vit(16, 12, 12, 768, kwargs)


@builder(ViT_B_32_Weights, prepare=_take_size)
def vit_b_32(**kwargs):
    """Base vision transformer on patches of 32x32."""
    return _vit(32, 12, 12, 768, kwargs)


@builder(ViT_L_16_Weights, prepare=_take_size)
def vit_l_16(**kwargs):
    """Large vision transformer on patches of 16x16."""
    return _vit(16, 24, 16, 1024, kwargs)


@builder(ViT_L_32_Weights, prepare=_take_size)
def vit_l_32(**kwargs):
    """Large vision transformer on patches of 32x32."""
    return _vit(32, 24, 16, 1024, kwargs)


@builder(ViT_H_14_Weights, pretrained=None, prepare=_take_size)
def vit_h_14(**kwargs):
    """Huge vision transformer on patches of 14x14."""
    return _vit(14, 32, 16, 1280, kwargs)


def interpolate_embeddings(image_size, patch_size, model_state, interpolation_mode="bicubic", reset_heads=False):
    """The state dict of a vision transformer with its positions interpolated for another image size.

    reset_heads leaves the classifier's entries out.
    """
    positions = model_state["encoder.pos_embedding"]
    n, length, hidden = positions.shape
    if n != 1:
        raise ValueError(f"Unexpected position embedding shape: {positions.shape}")
    new_side = image_size // patch_size
    if new_side**2 + 1 == length:
        return model_state
    side = math.isqrt(length - 1)
    if side * side != length - 1:
        raise ValueError(
            f"seq_length is not a perfect square! Instead got seq_length_1d * seq_length_1d = {side * side} and "
            f"seq_length = {length - 1}"
        )
    image = positions[:, 1:, :].permute(0, 2, 1).reshape(1, hidden, side, side)
    image = F.interpolate(image, size=new_side, mode=interpolation_mode, align_corners=True)
    image = image.reshape(1, hidden, new_side**2).permute(0, 2, 1)
    model_state["encoder.pos_embedding"] = torch.cat([positions[:, :1, :], image], dim=1)
    if not reset_heads:
        return model_state
    return OrderedDict((key, value) for key, value in model_state.items() if not key.startswith("heads"))
