"""Networks of the kinds that people export: for each the module, an example, other inputs, and what may change.

NETWORKS: {name: make}, and `make()` gives (module, example, others, dynamic_shapes).
"""

import math

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn


def sample(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def tokens(*shape, below=11):
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(1))


BATCH = {0: "batch"}
TEXT = {0: "batch", 1: "length"}
IMAGE = {0: "batch", 2: "height", 3: "width"}


class GPT(nn.Module):
    """GPT-2's blocks: learned positions, a causal mask cut from a buffer, pre-norm, tied weights."""

    def __init__(self, vocabulary=11, most=32, width=8, heads=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(most, width)
        self.ln1, self.ln2, self.ln3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down, self.heads = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), heads
        self.register_buffer("mask", torch.tril(torch.ones(most, most, dtype=torch.bool))[None, None])
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        n, length = ids.shape
        x = self.wte(ids) + self.wpe(torch.arange(length, device=ids.device))
        q, k, v = self.qkv(self.ln1(x)).split(x.size(-1), dim=2)
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(4)
        scores = scores.masked_fill(~self.mask[:, :, :length, :length], float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(n, length, -1)
        x = x + self.out(y)
        return self.head(self.ln3(x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))))


class BERT(nn.Module):
    """Token, position and segment embeddings, an additive mask from attention_mask, a pooler."""

    def __init__(self, width=8):
        super().__init__()
        self.word, self.position, self.kind = (
            nn.Embedding(11, width, padding_idx=0),
            nn.Embedding(32, width),
            nn.Embedding(2, width),
        )
        self.norm, self.pooler, self.classes = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, 3)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.register_buffer("places", torch.arange(32).expand(1, -1))

    def forward(self, input_ids, attention_mask, token_type_ids=None):
        n, length = input_ids.size()
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        x = self.norm(self.word(input_ids) + self.position(self.places[:, :length]) + self.kind(token_type_ids))
        q, k, v = (f(x).view(n, -1, 2, 4).transpose(1, 2) for f in (self.q, self.k, self.v))
        extended = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=extended).transpose(1, 2).reshape(n, length, 8)
        x = self.norm(x + self.o(y))
        return {"last": x, "logits": self.classes(self.pooler(x[:, 0]).tanh())}


class LLaMA(nn.Module):
    """Rotary positions, RMSNorm, grouped keys and values, SwiGLU."""

    def __init__(self, width=16):
        super().__init__()
        self.embed, self.norm = nn.Embedding(11, width), nn.RMSNorm(width, eps=1e-6)
        self.q, self.kv, self.o = (
            nn.Linear(width, width, bias=False),
            nn.Linear(width, width, bias=False),
            nn.Linear(width, width, bias=False),
        )
        self.gate, self.up, self.down = (
            nn.Linear(width, 24, bias=False),
            nn.Linear(width, 24, bias=False),
            nn.Linear(24, width, bias=False),
        )
        self.register_buffer("frequencies", 1.0 / 10000 ** (torch.arange(0, 4, 2).float() / 4), persistent=False)

    def rotate(self, x, cos, sin):
        half = torch.cat((-x[..., 2:], x[..., :2]), -1)
        return x * cos + half * sin

    def forward(self, ids):
        n, length = ids.shape
        x = self.embed(ids)
        y = self.norm(x)
        q = self.q(y).view(n, length, 4, 4).transpose(1, 2)
        k, v = self.kv(y).view(n, length, 2, 2, 4).unbind(2)
        angles = torch.outer(torch.arange(length).float(), self.frequencies)
        angles = torch.cat((angles, angles), -1)
        k = k.transpose(1, 2)[:, :, None].expand(n, 2, 2, length, 4).reshape(n, 4, length, 4)
        v = v.transpose(1, 2).repeat_interleave(2, dim=1)
        q, k = self.rotate(q, angles.cos(), angles.sin()), self.rotate(k, angles.cos(), angles.sin())
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        return x + self.down(F.silu(self.gate(self.norm(x))) * self.up(self.norm(x)))


class T5Bias(nn.Module):
    """Attention with relative positions in buckets."""

    def __init__(self):
        super().__init__()
        self.embed, self.bias = nn.Embedding(11, 8), nn.Embedding(8, 2)

    def forward(self, ids):
        n, length = ids.shape
        x = self.embed(ids).view(n, length, 2, 4).transpose(1, 2)
        places = torch.arange(length)
        distance = (places[None, :] - places[:, None]).abs()
        far = 4 + (torch.log(distance.float().clamp(min=1) / 4) / math.log(4) * 4).long()
        buckets = torch.where(distance < 4, distance, far.clamp(max=7))
        scores = x @ x.transpose(2, 3) + self.bias(buckets).permute(2, 0, 1)[None]
        return (scores.softmax(-1) @ x).transpose(1, 2).reshape(n, length, -1)


class Tagger(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.embed, self.cell = nn.Embedding(11, 6), kind(6, 5, batch_first=True, **options)
        self.out = nn.Linear(5 * (2 if options.get("bidirectional") else 1), 4)

    def forward(self, ids):
        y, _ = self.cell(self.embed(ids))
        return self.out(y).log_softmax(-1), self.out(y[:, -1])


class Seq2Seq(nn.Module):
    """A GRU reads, and another one writes a fixed number of words, each the likeliest."""

    def __init__(self, words=4):
        super().__init__()
        self.embed, self.encoder, self.decoder = (
            nn.Embedding(11, 6),
            nn.GRU(6, 5, batch_first=True),
            nn.GRU(6, 5, batch_first=True),
        )
        self.out, self.words = nn.Linear(5, 11), words

    def forward(self, ids):
        _, state = self.encoder(self.embed(ids))
        word, found = torch.zeros(ids.size(0), 1, dtype=torch.long), []
        for _ in range(self.words):
            y, state = self.decoder(self.embed(word), state)
            logits = self.out(y)
            word = logits.argmax(-1)
            found.append(logits)
        return torch.cat(found, 1)


class AttentionSeq2Seq(nn.Module):
    """nn.Transformer with a causal mask for the target and padding masks."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.transformer = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

    def forward(self, source, target):
        mask = torch.triu(torch.full((target.size(1), target.size(1)), float("-inf")), diagonal=1)
        return self.transformer(self.embed(source), self.embed(target), tgt_mask=mask)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle = (
            nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()),
            nn.Conv2d(4, 8, 3, padding=1),
        )
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.down(x)
        b = self.up(F.relu(self.middle(F.max_pool2d(a, 2))))
        dy, dx = a.size(2) - b.size(2), a.size(3) - b.size(3)
        b = F.pad(b, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.last(torch.cat([a, b], 1))


class VAE(nn.Module):
    """In evaluation the mean is decoded."""

    def __init__(self):
        super().__init__()
        self.encoder, self.mean, self.variance = nn.Linear(12, 8), nn.Linear(8, 3), nn.Linear(8, 3)
        self.decoder = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 12), nn.Sigmoid())

    def forward(self, x):
        hidden = F.elu(self.encoder(x.flatten(1)))
        mean, variance = self.mean(hidden), self.variance(hidden)
        z = mean + torch.randn_like(mean) * (0.5 * variance).exp() if self.training else mean
        return self.decoder(z).view_as(x), mean, variance


class Detector(nn.Module):
    """Anchors over the places of a feature map, boxes decoded and clipped, the best k by score."""

    def __init__(self, k=5):
        super().__init__()
        self.body, self.scores, self.boxes, self.k = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 3, 1), nn.Conv2d(8, 4, 1), k

    def forward(self, x):
        features = F.silu(self.body(x))
        n, height, width = features.size(0), features.size(2), features.size(3)
        ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centres = (torch.stack((xs, ys), -1).reshape(-1, 2) + 0.5) * 2
        scores = self.scores(features).permute(0, 2, 3, 1).reshape(n, -1, 3).sigmoid()
        moves = self.boxes(features).permute(0, 2, 3, 1).reshape(n, -1, 4)
        middle, size = centres + moves[..., :2], moves[..., 2:].exp()
        boxes = torch.cat((middle - size / 2, middle + size / 2), -1)
        limits = torch.stack((x.new_ones(()) * x.size(3), x.new_ones(()) * x.size(2))).repeat(2)
        boxes = torch.minimum(boxes.clamp(min=0), limits)
        best, labels = scores.max(-1)
        top, places = best.topk(self.k, dim=1)
        return top, labels.gather(1, places), boxes.gather(1, places.unsqueeze(-1).expand(-1, -1, 4))


class GraphNetwork(nn.Module):
    """Messages along edges, added, averaged and compared at their targets."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        messages = self.first(x)[source]
        total = torch.zeros(x.size(0), 6).index_add(0, target, messages)
        degree = torch.zeros(x.size(0)).scatter_add(0, target, torch.ones(target.size(0)))
        most = torch.zeros(x.size(0), 6).scatter_reduce(
            0, target[:, None].expand(-1, 6), messages, "amax", include_self=False
        )
        mean = total / degree.clamp(min=1)[:, None]
        return self.second(F.relu(mean + most)), mean.mean(0)


class Bags(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.bag, self.out = nn.EmbeddingBag(11, 4, mode=mode), nn.Linear(4, 2)

    def forward(self, ids, offsets):
        return self.out(self.bag(ids, offsets))


class Swin(nn.Module):
    """Attention in shifted windows of a fixed image."""

    def __init__(self):
        super().__init__()
        self.patches, self.qkv, self.norm = nn.Conv2d(3, 8, 2, 2), nn.Linear(8, 24), nn.LayerNorm(8)

    def forward(self, x):
        x = self.norm(self.patches(x).permute(0, 2, 3, 1))
        n, h, w, c = x.shape
        x = torch.roll(x, shifts=(-1, -1), dims=(1, 2))
        windows = x.view(n, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 4, c)
        q, k, v = self.qkv(windows).reshape(-1, 4, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, 2, 2, c)
        y = y.view(n, h // 2, w // 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(n, h, w, c)
        return torch.roll(y, shifts=(1, 1), dims=(1, 2)).mean((1, 2))


class STN(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = nn.Linear(3, 6)

    def forward(self, x):
        theta = self.where(x.mean((2, 3))).view(-1, 2, 3)
        return F.grid_sample(x, F.affine_grid(theta, x.size(), align_corners=False), align_corners=False)


class MoE(nn.Module):
    """The two best of four experts for each token, weighted."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(6, 4), nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        gates = torch.zeros(x.size(0), x.size(1), 4).scatter(-1, chosen, weights)
        return sum(gates[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 4, 1)
        self.layers = nn.ModuleList(nn.Conv1d(4, 8, 2, dilation=2**i) for i in range(3))
        self.last = nn.Conv1d(4, 2, 1)

    def forward(self, x):
        x = self.first(x)
        for i, layer in enumerate(self.layers):
            a, b = layer(F.pad(x, (2**i, 0))).chunk(2, 1)
            x = x + a.tanh() * b.sigmoid()
        return self.last(x)


class Residual(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.conv, self.norm, self.head = (
            nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"),
            norm(8),
            nn.Linear(8, 2),
        )

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)), inplace=True)
        y += F.pad(x, (0, 0, 0, 0, 0, 5))
        return self.head(y.mean((-2, -1)))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.wide = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1)

    def forward(self, x):
        big = F.pixel_shuffle(self.wide(F.leaky_relu(self.conv(x), 0.2)), 2)
        return big + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)


class FPN(nn.Module):
    """Coarse features enlarged to the size of fine ones, in every mode."""

    def __init__(self, mode):
        super().__init__()
        self.a, self.b, self.mode = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1), mode

    def forward(self, x):
        fine = self.a(x)
        options = {} if self.mode in ("nearest", "nearest-exact") else {"align_corners": False}
        return fine + F.interpolate(self.b(fine), size=fine.shape[-2:], mode=self.mode, **options)


class Mamba(nn.Module):
    """A linear recurrence as sums of logarithms, a causal convolution and a gate."""

    def __init__(self):
        super().__init__()
        self.inside, self.conv, self.decay = nn.Linear(6, 12), nn.Conv1d(6, 6, 3, groups=6), nn.Linear(6, 6)

    def forward(self, x):
        u, gate = self.inside(x).chunk(2, dim=-1)
        u = F.silu(self.conv(F.pad(u.transpose(1, 2), (2, 0))).transpose(1, 2))
        steps = -F.softplus(self.decay(u)) * 0.1
        total = steps.cumsum(1)
        state = (u * torch.exp(-total)).cumsum(1) * torch.exp(total)
        return state * F.silu(gate)


class PointNet(nn.Module):
    """Nearest neighbours by distance, features gathered and the largest kept."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 5)

    def forward(self, points):
        distance = torch.cdist(points, points)
        near = distance.topk(3, dim=-1, largest=False).indices
        n, count = points.shape[:2]
        flat = near.reshape(n, -1, 1).expand(-1, -1, 3)
        around = points.gather(1, flat).view(n, count, 3, 3)
        both = torch.cat((points[:, :, None].expand_as(around), around - points[:, :, None]), -1)
        return self.net(both).amax((1, 2))


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 8), nn.PReLU(8), nn.Linear(8, 4))

    def forward(self, a, b):
        x, y = self.net(a), self.net(b)
        return (
            F.cosine_similarity(x, y),
            F.pairwise_distance(x, y),
            torch.einsum("nd,md->nm", F.normalize(x), F.normalize(y)),
        )


class MultiInput(nn.Module):
    """Nested arguments, written into a cache at the places given."""

    def forward(self, state, update, places):
        cache = state["cache"].clone()
        cache[:, 1:3] = update
        cache = cache.index_copy(1, places, update * 2)
        return {"cache": cache, "sum": (cache.sum(-1), state["scale"] * cache.max(1).values)}


def _text(make, *others, count=1, longest=9):
    def case():
        example = tuple(tokens(2, 5) for _ in range(count))
        more = [tuple(tokens(n, length) for _ in range(count)) for n, length in others or ((3, longest), (1, 2))]
        return make(), example, more, tuple(TEXT for _ in range(count))

    return case


def _image(make, *shape, changes=IMAGE, others=()):
    return lambda: (make(), (sample(2, *shape),), [(sample(*s),) for s in others], (changes,))


def _bert():
    def inputs(n, length):
        return tokens(n, length), (torch.arange(length) < length - torch.arange(n)[:, None] % 2).long()

    return BERT(), inputs(2, 5), [inputs(3, 8), inputs(1, 2)], (TEXT, TEXT)


def _graph():
    shapes = ({0: "nodes"}, {1: "edges"})
    return GraphNetwork(), (sample(5, 4), tokens(2, 7, below=5)), [(sample(9, 4), tokens(2, 20, below=9))], shapes


def _bags(mode):
    others = [(tokens(9), torch.tensor([0, 2, 2, 7])), (tokens(3), torch.tensor([0]))]
    return lambda: (Bags(mode), (tokens(6), torch.tensor([0, 3])), others, ({0: "words"}, {0: "bags"}))


def _siamese():
    return Siamese(), (sample(3, 5), sample(3, 5) + 1), [(sample(6, 5), sample(6, 5) * 2)], (BATCH, BATCH)


def _nested():
    def inputs(n, length):
        return (
            {"cache": sample(n, length, 4), "scale": torch.tensor(2.0)},
            sample(n, 2, 4),
            torch.tensor([0, length - 1]),
        )

    shapes = ({"cache": TEXT, "scale": None}, BATCH, None)
    return MultiInput(), inputs(2, 5), [inputs(3, 7)], shapes


def _two_lengths():
    shapes = ({0: "batch", 1: "source"}, {0: "batch", 1: "target"})
    others = [(tokens(3, 7), tokens(3, 2)), (tokens(1, 3), tokens(1, 6))]
    return AttentionSeq2Seq(), (tokens(2, 5), tokens(2, 4)), others, shapes


def _encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu")
    return (
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        (sample(2, 5, 8),),
        [(sample(3, 9, 8),)],
        (TEXT,),
    )


def _multihead():
    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x, padded):
            return self.attention(x, x, x, key_padding_mask=padded)

    def inputs(n, length):
        return sample(n, length, 8), torch.arange(length).expand(n, length) >= length - 1

    return Attends(), inputs(2, 5), [inputs(4, 3)], (TEXT, TEXT)


IMAGES = ((1, 3, 8, 8), (3, 3, 12, 20))
EVEN = ((1, 3, 16, 8), (3, 3, 12, 20))
NETWORKS = {
    "GPT-2": _text(GPT), "BERT": _bert, "LLaMA": _text(LLaMA), "T5": _text(T5Bias),
    "LSTM tagger": _text(lambda: Tagger(nn.LSTM)), "BiLSTM tagger": _text(lambda: Tagger(nn.LSTM, bidirectional=True, num_layers=2)),
    "GRU tagger": _text(lambda: Tagger(nn.GRU)), "RNN tagger": _text(lambda: Tagger(nn.RNN)), "seq2seq": _text(Seq2Seq),
    "nn.Transformer": _two_lengths, "encoder": _encoder, "multihead": _multihead,
    "U-Net": _image(UNet, 3, 8, 8, others=(*IMAGES, (1, 3, 9, 11))), "VAE": _image(VAE, 3, 2, 2, changes=BATCH, others=((5, 3, 2, 2),)),
    "autoencoder": _image(
        lambda: nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(6, 3, 3, 2, 1, 1), nn.Sigmoid()), 3, 8, 8, others=EVEN
    ),
    "detector": _image(Detector, 3, 8, 8, others=IMAGES), "GNN": _graph, "sum bags": _bags("sum"), "mean bags": _bags("mean"),
    "max bags": _bags("max"), "Swin": _image(Swin, 3, 8, 8, changes=BATCH, others=((5, 3, 8, 8),)), "STN": _image(STN, 3, 6, 5, others=IMAGES),
    "mixture of experts": lambda: (MoE(), (sample(2, 5, 6),), [(sample(3, 8, 6),)], (TEXT,)),
    "WaveNet": lambda: (WaveNet(), (sample(2, 1, 20),), [(sample(1, 1, 50),)], ({0: "batch", 2: "time"},)),
    **{
        f"residual {name}": _image(lambda norm=norm: Residual(norm), 3, 8, 8, others=IMAGES)
        for name, norm in {
            "batch": nn.BatchNorm2d, "group": lambda n: nn.GroupNorm(2, n), "instance": lambda n: nn.InstanceNorm2d(n, affine=True),
            "layer": lambda n: nn.GroupNorm(1, n),
        }.items()
    },
    "super-resolution": _image(SuperResolution, 3, 8, 8, others=IMAGES),
    **{f"FPN {m}": _image(lambda m=m: FPN(m), 3, 8, 8, others=IMAGES) for m in ("nearest", "nearest-exact", "bilinear", "bicubic")},
    "Mamba": lambda: (Mamba(), (sample(2, 5, 6),), [(sample(3, 11, 6),)], (TEXT,)),
    "PointNet": lambda: (PointNet(), (sample(2, 7, 3),), [(sample(3, 12, 3),)], ({0: "batch", 1: "points"},)),
    "Siamese": _siamese, "nested": _nested,
}  # fmt: skip
VISION = (
    "resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_y_400mf", "densenet121", "efficientnet_b0",
    "mnasnet0_5",
)  # fmt: skip
