"""Swin transformer (Liu et al., arXiv 2103.14030) and its second version (2111.09883).

Attention within windows, which every other block shifts by half a window. Features are (N, H, W, C).
"""

import math
from functools import partial

import rushlight as torch
from rushlight import float32, nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.ops.layers import MLP, Layer, Permute
from rushlight_vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "SwinTransformer",
    "Swin_B_Weights",
    "Swin_S_Weights",
    "Swin_T_Weights",
    "Swin_V2_B_Weights",
    "Swin_V2_S_Weights",
    "Swin_V2_T_Weights",
    "swin_b",
    "swin_s",
    "swin_t",
    "swin_v2_b",
    "swin_v2_s",
    "swin_v2_t",
]


def _patch_merging_pad(x):
    """Each 2x2 pixels as one with four times the channels; odd sizes are padded with 0."""
    height, width, _ = x.shape[-3:]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    corners = [x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)]
    return torch.cat(corners, -1)


class PatchMerging(nn.Module):
    """Half the size, twice the channels: (N, H, W, dim) -> (N, ceil(H / 2), ceil(W / 2), 2 dim)."""

    def __init__(self, dim, norm_layer: Layer = nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x):
        return self.reduction(self.norm(_patch_merging_pad(x)))


class PatchMergingV2(nn.Module):
    """PatchMerging with the norm last."""

    def __init__(self, dim, norm_layer: Layer = nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x):
        return self.norm(self.reduction(_patch_merging_pad(x)))


def _windows(x, window):
    """(N, H, W, C) -> (N H/h W/w, h w, C)."""
    n, height, width, channels = x.shape
    h, w = window
    x = x.view(n, height // h, h, width // w, w, channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, h * w, channels)


def _joined(x, window, height, width):
    """The inverse of `_windows`."""
    h, w = window
    x = x.view(-1, height // h, width // w, h, w, x.size(-1))
    return x.permute(0, 1, 3, 2, 4, 5).reshape(x.size(0), height, width, -1)


def _shift_mask(x, height, width, window, shift):
    """(windows, h w, h w): -100 between pixels that only the shift brought into one window, else 0."""
    region = x.new_zeros((height, width))
    rows, columns = (
        ((0, -size), (-size, -step), (-step, None)) for size, step in zip(window, shift)
    )  # with a shift of 0 the middle part is all and the last one covers it again
    label = 0
    for top, bottom in rows:
        for left, right in columns:
            region[top:bottom, left:right] = label
            label += 1
    labels = _windows(region[None, :, :, None], window).squeeze(-1)
    differ = labels.unsqueeze(1) - labels.unsqueeze(2)
    return differ.masked_fill(differ != 0, -100.0).masked_fill(differ == 0, 0.0)


def _scores(q, k, logit_scale):
    """Scaled dot products, or in version 2 cosines times a learned scale."""
    if logit_scale is None:
        return (q * q.size(-1) ** -0.5).matmul(k.transpose(-2, -1))
    cosines = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
    return cosines * torch.clamp(logit_scale, max=math.log(100.0)).exp()


def shifted_window_attention(
    input,
    qkv_weight,
    proj_weight,
    relative_position_bias,
    window_size,
    num_heads,
    shift_size,
    attention_dropout=0.0,
    dropout=0.0,
    qkv_bias=None,
    proj_bias=None,
    logit_scale=None,
    training=True,
):
    """Self-attention of the pixels within each window, the image first rolled by `shift_size`.

    Shape: input (N, H, W, C) -> the same
    """
    _, height, width, channels = input.shape
    h, w = window_size
    x = F.pad(input, (0, 0, 0, -width % w, 0, -height % h))
    _, padded_height, padded_width, _ = x.shape
    shift = [0 if h >= padded_height else shift_size[0], 0 if w >= padded_width else shift_size[1]]
    if sum(shift) > 0:
        x = torch.roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
    x = _windows(x, window_size)
    if logit_scale is not None and qkv_bias is not None:  # version 2 has no bias for the keys
        qkv_bias = qkv_bias.clone()
        length = qkv_bias.numel() // 3
        qkv_bias[length : 2 * length].zero_()
    count, pixels, _ = x.shape
    qkv = F.linear(x, qkv_weight, qkv_bias).reshape(count, pixels, 3, num_heads, channels // num_heads)
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    scores = _scores(q, k, logit_scale) + relative_position_bias
    if sum(shift) > 0:
        mask = _shift_mask(x, padded_height, padded_width, window_size, shift)
        scores = scores.view(-1, mask.size(0), num_heads, pixels, pixels) + mask.unsqueeze(1).unsqueeze(0)
        scores = scores.view(-1, num_heads, pixels, pixels)
    weights = F.dropout(F.softmax(scores, dim=-1), p=attention_dropout, training=training)
    x = weights.matmul(v).transpose(1, 2).reshape(count, pixels, channels)
    x = F.dropout(F.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = _joined(x, window_size, padded_height, padded_width)
    if sum(shift) > 0:
        x = torch.roll(x, shifts=(shift[0], shift[1]), dims=(1, 2))
    return x[:, :height, :width, :].contiguous()


class ShiftedWindowAttention(nn.Module):
    """`shifted_window_attention` with a learned bias for each relative position.

    Shape: (N, H, W, dim) -> the same
    """

    def __init__(
        self,
        dim,
        window_size,
        shift_size,
        num_heads,
        qkv_bias=True,
        proj_bias=True,
        attention_dropout=0.0,
        dropout=0.0,
    ):
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self):
        """A parameter: for each distance by rows and columns, a bias of each head."""
        h, w = self.window_size
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * h - 1) * (2 * w - 1), self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self):
        """A buffer: for each pair of pixels of a window, the table's row."""
        h, w = self.window_size
        rows, columns = (c.flatten() for c in torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij"))
        down = rows[:, None] - rows[None, :] + h - 1
        across = columns[:, None] - columns[None, :] + w - 1
        self.register_buffer("relative_position_index", (down * (2 * w - 1) + across).flatten())

    def get_relative_position_bias(self):
        """(1, heads, h w, h w)."""
        return self._looked_up(self.relative_position_bias_table)

    def _looked_up(self, table):
        pixels = self.window_size[0] * self.window_size[1]
        bias = table[self.relative_position_index].view(pixels, pixels, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x):
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            self.get_relative_position_bias(),
            self.window_size,
            self.num_heads,
            shift_size=self.shift_size,
            attention_dropout=self.attention_dropout,
            dropout=self.dropout,
            qkv_bias=self.qkv.bias,
            proj_bias=self.proj.bias,
            logit_scale=getattr(self, "logit_scale", None),
            training=self.training,
        )


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by cosine, its bias computed from the relative position by a small network."""

    def __init__(
        self,
        dim,
        window_size,
        shift_size,
        num_heads,
        qkv_bias=True,
        proj_bias=True,
        attention_dropout=0.0,
        dropout=0.0,
    ):
        super().__init__(dim, window_size, shift_size, num_heads, qkv_bias, proj_bias, attention_dropout, dropout)
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones((num_heads, 1, 1))))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False)
        )
        if qkv_bias:
            length = self.qkv.bias.numel() // 3
            self.qkv.bias[length : 2 * length].data.zero_()

    def define_relative_position_bias_table(self):
        """A buffer: for each distance by rows and columns, its logarithmic coordinates."""
        scaled = [torch.arange(-(size - 1), size, dtype=float32) / (size - 1) * 8 for size in self.window_size]
        table = torch.stack(torch.meshgrid(scaled, indexing="ij")).permute(1, 2, 0).contiguous().unsqueeze(0)
        self.register_buffer("relative_coords_table", torch.sign(table) * torch.log2(torch.abs(table) + 1.0) / 3.0)

    def get_relative_position_bias(self):
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * torch.sigmoid(self._looked_up(table))


class SwinTransformerBlock(nn.Module):
    """Window attention and an MLP, each with a norm before it and a shortcut around it."""

    def __init__(
        self,
        dim,
        num_heads,
        window_size,
        shift_size,
        mlp_ratio=4.0,
        dropout=0.0,
        attention_dropout=0.0,
        stochastic_depth_prob=0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer=ShiftedWindowAttention,
    ):
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(
            dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout, dropout=dropout
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for m in self.mlp.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.normal_(m.bias, std=1e-6)

    def forward(self, x):
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """The block with its norms after attention and MLP."""

    def __init__(
        self,
        dim,
        num_heads,
        window_size,
        shift_size,
        mlp_ratio=4.0,
        dropout=0.0,
        attention_dropout=0.0,
        stochastic_depth_prob=0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer=ShiftedWindowAttentionV2,
    ):
        super().__init__(
            dim,
            num_heads,
            window_size,
            shift_size,
            mlp_ratio,
            dropout,
            attention_dropout,
            stochastic_depth_prob,
            norm_layer,
            attn_layer,
        )

    def forward(self, x):
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Stages of `depths` blocks, between which patches are merged.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    def __init__(
        self,
        patch_size,
        embed_dim,
        depths,
        num_heads,
        window_size,
        mlp_ratio=4.0,
        dropout=0.0,
        attention_dropout=0.0,
        stochastic_depth_prob=0.1,
        num_classes=1000,
        norm_layer: Layer | None = None,
        block=None,
        downsample_layer=PatchMerging,
    ):
        super().__init__()
        self.num_classes = num_classes
        block = block or SwinTransformerBlock
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        patch = tuple(patch_size)
        layers: list[nn.Module] = [
            nn.Sequential(
                nn.Conv2d(3, embed_dim, kernel_size=patch, stride=patch), Permute([0, 2, 3, 1]), norm_layer(embed_dim)
            )
        ]
        done = 0
        for i, depth in enumerate(depths):
            dim = embed_dim * 2**i
            stage = []
            for j in range(depth):
                probability = stochastic_depth_prob * float(done) / (sum(depths) - 1)
                shift = [0 if j % 2 == 0 else size // 2 for size in window_size]
                rates = (mlp_ratio, dropout, attention_dropout, probability)
                stage.append(block(dim, num_heads[i], window_size, shift, *rates, norm_layer=norm_layer))
                done += 1
            layers.append(nn.Sequential(*stage))
            if i < len(depths) - 1:
                layers.append(downsample_layer(dim, norm_layer))
        self.features = nn.Sequential(*layers)
        width = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm_layer(width)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


_HEADS = {96: [3, 6, 12, 24], 128: [4, 8, 16, 32]}


def _swin(embed_dim, depth, stochastic_depth_prob, options, window=7, **version):
    depths = [2, 2, depth, 2]
    return SwinTransformer(
        [4, 4],
        embed_dim,
        depths,
        _HEADS[embed_dim],
        [window, window],
        stochastic_depth_prob=stochastic_depth_prob,
        **version,
        **options,
    )


_V2 = {"window": 8, "block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}

Swin_T_Weights = weights_enum("Swin_T_Weights", __name__)
Swin_S_Weights = weights_enum("Swin_S_Weights", __name__)
Swin_B_Weights = weights_enum("Swin_B_Weights", __name__)
Swin_V2_T_Weights = weights_enum("Swin_V2_T_Weights", __name__)
Swin_V2_S_Weights = weights_enum("Swin_V2_S_Weights", __name__)
Swin_V2_B_Weights = weights_enum("Swin_V2_B_Weights", __name__)


@builder(Swin_T_Weights)
def swin_t(**kwargs):
    """Swin, tiny."""
    return _swin(96, 6, 0.2, kwargs)


@builder(Swin_S_Weights)
def swin_s(**kwargs):
    """Swin, small."""
    return _swin(96, 18, 0.3, kwargs)


@builder(Swin_B_Weights)
def swin_b(**kwargs):
    """Swin, base."""
    return _swin(128, 18, 0.5, kwargs)


@builder(Swin_V2_T_Weights)
def swin_v2_t(**kwargs):
    """Swin v2, tiny."""
    return _swin(96, 6, 0.2, kwargs, **_V2)


@builder(Swin_V2_S_Weights)
def swin_v2_s(**kwargs):
    """Swin v2, small."""
    return _swin(96, 18, 0.3, kwargs, **_V2)


@builder(Swin_V2_B_Weights)
def swin_v2_b(**kwargs):
    """Swin v2, base."""
    return _swin(128, 18, 0.5, kwargs, **_V2)
