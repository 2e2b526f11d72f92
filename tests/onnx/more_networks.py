"""Further networks, of kinds that export otherwise than those of `networks`: with writes, running results, searches."""

import math

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from tests.onnx.networks import BATCH, IMAGE, IMAGES, TEXT, sample, tokens


class NeRF(nn.Module):
    """Frequencies of places along rays, densities, and colours weighted by what gets through: a running product."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(15, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, origins, directions):
        depths = torch.linspace(1.0, 3.0, 6)
        points = origins[:, None] + directions[:, None] * depths[:, None]
        waves = torch.cat([points, *(f(points * 2**i) for i in range(2) for f in (torch.sin, torch.cos))], -1)
        raw = self.net(waves)
        alpha = 1 - torch.exp(-F.relu(raw[..., 3]) * 0.4)
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        weights = alpha * through
        return (weights[..., None] * raw[..., :3].sigmoid()).sum(-2), (weights * depths).sum(-1)


class InterleavedRotary(nn.Module):
    """Rotary positions whose even and odd elements are written in turn, and the keys into a cache at a place given."""

    def __init__(self):
        super().__init__()
        self.qk = nn.Linear(8, 16)
        self.register_buffer("rates", 1.0 / 100 ** (torch.arange(0, 8, 2) / 8))

    def rotate(self, x, places):
        angles = places[:, None] * self.rates
        out = torch.empty_like(x)
        out[..., ::2] = x[..., ::2] * angles.cos() - x[..., 1::2] * angles.sin()
        out[..., 1::2] = x[..., 1::2] * angles.cos() + x[..., ::2] * angles.sin()
        return out

    def forward(self, x, cache, start):
        q, k = self.qk(x).chunk(2, -1)
        places = start + torch.arange(x.size(1))
        q, k = self.rotate(q, places), self.rotate(k, places)
        cache = cache.clone()
        cache[:, places] = k
        seen = torch.arange(cache.size(1)) <= places[:, None]
        return F.scaled_dot_product_attention(q, cache, cache, attn_mask=seen), cache


class Spline(nn.Module):
    """A monotone spline of rational quadratics: bins found by a search, their ends by sums."""

    def __init__(self, bins=5):
        super().__init__()
        self.net, self.bins = nn.Linear(2, 3 * bins + 1), bins

    def forward(self, x, context):
        widths, heights, slopes = self.net(context).split([self.bins, self.bins, self.bins + 1], -1)
        xs, ys = (F.pad(p.softmax(-1).cumsum(-1), (1, 0)) for p in (widths, heights))
        xs[..., -1], ys[..., -1] = 1.0, 1.0
        slopes = F.softplus(slopes) + 1e-3
        at = (torch.searchsorted(xs, x[..., None], right=True) - 1).clamp(0, self.bins - 1)
        x0, x1, y0, y1 = (t.gather(-1, i)[..., 0] for t in (xs, ys) for i in (at, at + 1))
        d0, d1 = (slopes.gather(-1, i)[..., 0] for i in (at, at + 1))
        s, t = (y1 - y0) / (x1 - x0), (x - x0) / (x1 - x0)
        below = s + (d1 + d0 - 2 * s) * t * (1 - t)
        return y0 + (y1 - y0) * (s * t**2 + d0 * t * (1 - t)) / below


class Table(nn.Module):
    """Numbers in quantile bins and categories, as tokens of a transformer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("edges", torch.tensor([-1.0, -0.3, 0.0, 0.3, 1.0]))
        self.bins, self.kinds = nn.Embedding(6, 8), nn.ModuleList(nn.Embedding(n, 8) for n in (3, 7))
        self.cls, self.block, self.head = (
            nn.Parameter(torch.zeros(1, 1, 8)),
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
            nn.Linear(8, 1),
        )

    def forward(self, numbers, kinds):
        parts = [self.bins(torch.bucketize(numbers, self.edges))]
        parts += [table(kinds[:, i] % table.num_embeddings)[:, None] for i, table in enumerate(self.kinds)]
        x = torch.cat([self.cls.expand(numbers.size(0), -1, -1), *parts], 1)
        return self.head(self.block(x)[:, 0])


class Quantiles(nn.Module):
    """Quantiles that do not cross: the largest so far."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 5)

    def forward(self, x):
        values, places = self.net(x).cummax(-1)
        return values, places, self.net(x).cummin(-1).values


class RWKV(nn.Module):
    """Weighted averages of all before, in logarithms."""

    def __init__(self):
        super().__init__()
        self.key, self.value, self.gate, self.decay = *(nn.Linear(6, 6) for _ in range(3)), nn.Parameter(torch.ones(6))

    def forward(self, x):
        before = F.pad(x, (0, 0, 1, -1))
        k, v, r = self.key(x + before), self.value(x), self.gate(x).sigmoid()
        k = k + torch.arange(x.size(1))[:, None] * self.decay.exp()
        total = k.logcumsumexp(1)
        positive = (k + F.softplus(v).log()).logcumsumexp(1)
        return r * (positive - total).exp()


class Yolo(nn.Module):
    """Boxes decoded in place over a grid, at two scales."""

    def __init__(self):
        super().__init__()
        self.body, self.heads = nn.Conv2d(3, 6, 3, 2, 1), nn.ModuleList(nn.Conv2d(6, 2 * 7, 1) for _ in range(2))
        self.register_buffer("anchors", torch.tensor([[[1.0, 2.0], [2.0, 1.0]], [[3.0, 3.0], [4.0, 2.0]]]))

    def forward(self, x):
        x, found = F.silu(self.body(x)), []
        for i, head in enumerate(self.heads):
            n, _, h, w = x.shape
            y = head(x).view(n, 2, 7, h, w).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
            ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grid = torch.stack((xs, ys), 2).view(1, 1, h, w, 2).float()
            y[..., 0:2] = (y[..., 0:2] * 2 - 0.5 + grid) * 2 ** (i + 1)
            y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * self.anchors[i].view(1, 2, 1, 1, 2)
            found.append(y.view(n, -1, 7))
            x = F.max_pool2d(x, 2)
        boxes = torch.cat(found, 1)
        corners = boxes[..., :4].clone()
        corners[..., 0] = boxes[..., 0] - boxes[..., 2] / 2
        corners[..., 1] = boxes[..., 1] - boxes[..., 3] / 2
        corners[..., 2:] = corners[..., :2] + boxes[..., 2:4]
        corners[..., 0::2].clamp_(0, 16)
        return corners, boxes[..., 4:]


class GAT(nn.Module):
    """Attention over the edges that enter each node: a softmax in groups."""

    def __init__(self):
        super().__init__()
        self.net, self.entering, self.leaving = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1)

    def forward(self, x, edges):
        source, target = edges
        h = self.net(x)
        score = F.leaky_relu(self.leaving(h)[source, 0] + self.entering(h)[target, 0], 0.2)
        most = torch.full((x.size(0),), float("-inf")).scatter_reduce(0, target, score, "amax")
        weight = (score - most[target]).exp()
        weight = weight / (torch.zeros(x.size(0)).index_add(0, target, weight)[target] + 1e-16)
        return torch.zeros_like(h).index_add(0, target, h[source] * weight[:, None])


class DenseGCN(nn.Module):
    """A normalised adjacency with ones on its diagonal."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 5)

    def forward(self, x, adjacency):
        a = adjacency.clone()
        a.diagonal(dim1=-2, dim2=-1).fill_(1.0)
        root = a.sum(-1).clamp(min=1).rsqrt()
        return (root[..., None] * a * root[..., None, :]) @ self.net(x)


class Routing(nn.Module):
    """Capsules: agreement decides, three times, to which capsule a part goes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6, 3, 4, 5))

    def squash(self, x):
        size = x.norm(dim=-1, keepdim=True)
        return size / (1 + size**2) * x

    def forward(self, x):
        votes = torch.einsum("bpi,pcio->bpco", self.squash(x), self.weight)
        logits = torch.zeros(x.size(0), 6, 3)
        for _ in range(3):
            found = self.squash((logits.softmax(-1)[..., None] * votes).sum(1))
            logits = logits + (votes * found[:, None]).sum(-1)
        return found.norm(dim=-1)


class Codebook(nn.Module):
    """VQ-VAE: the nearest code, and how often each is used."""

    def __init__(self):
        super().__init__()
        self.encode, self.codes, self.decode = (
            nn.Conv2d(3, 4, 4, 2, 1),
            nn.Embedding(7, 4),
            nn.ConvTranspose2d(4, 3, 4, 2, 1),
        )

    def forward(self, x):
        z = self.encode(x).permute(0, 2, 3, 1)
        flat = z.reshape(-1, 4)
        far = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.weight.t() + self.codes.weight.pow(2).sum(1)
        at = far.argmin(1)
        q = self.codes(at).view(z.shape)
        q = z + (q - z).detach()
        use = F.one_hot(at, 7).float().mean(0)
        perplexity = (-(use * (use + 1e-10).log()).sum()).exp()
        return self.decode(q.permute(0, 3, 1, 2)), at.view(z.shape[:-1]), perplexity, F.mse_loss(q, z)


class DETR(nn.Module):
    """Learned queries attend to a feature map with sines and cosines of its places."""

    def __init__(self):
        super().__init__()
        self.body, self.queries = nn.Conv2d(3, 8, 3, 2, 1), nn.Embedding(5, 8)
        self.layer, self.box = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 4)

    def forward(self, x):
        f = self.body(x)
        ones = torch.ones_like(f[:, 0])
        y, x = ones.cumsum(1), ones.cumsum(2)
        rate = 100 ** (torch.arange(2) / 2)
        place = torch.cat([t[..., None] / rate for t in (y, x)], -1)
        place = torch.stack((place.sin(), place.cos()), -1).flatten(-2).permute(0, 3, 1, 2)
        memory = (f + place).flatten(2).transpose(1, 2)
        queries = self.queries.weight[None].repeat(f.shape[0], 1, 1)
        return self.box(self.layer(queries, memory)).sigmoid()


class DeepFM(nn.Module):
    """Factorisation machine and a deep part over the same embeddings of fields with offsets; a cross network."""

    def __init__(self, fields=(3, 5, 4)):
        super().__init__()
        self.table, self.linear = nn.Embedding(sum(fields), 4), nn.Embedding(sum(fields), 1)
        self.register_buffer("offsets", torch.tensor([0, *fields[:-1]]).cumsum(0))
        self.deep, self.cross = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1)), nn.Linear(12, 12)

    def forward(self, ids):
        ids = ids + self.offsets
        e = self.table(ids)
        pairs = 0.5 * (e.sum(1).square() - e.square().sum(1)).sum(-1, keepdim=True)
        flat = e.flatten(1)
        crossed = flat * self.cross(flat) + flat
        return torch.sigmoid(self.linear(ids).sum(1) + pairs + self.deep(crossed))


class CRF(nn.Module):
    """The likeliest tags of five words and the sum over all taggings."""

    def __init__(self):
        super().__init__()
        self.net, self.moves = nn.Linear(4, 3), nn.Parameter(torch.zeros(3, 3))

    def forward(self, x):
        scores = self.net(x)
        best = total = scores[:, 0]
        back = []
        for t in range(1, 5):
            values, places = (best[:, :, None] + self.moves).max(1)
            best, back = values + scores[:, t], [*back, places]
            total = (total[:, :, None] + self.moves).logsumexp(1) + scores[:, t]
        tags = [best.argmax(-1)]
        for places in reversed(back):
            tags.append(places.gather(1, tags[-1][:, None])[:, 0])
        return torch.stack(tags[::-1], 1), total.logsumexp(-1)


class Pointer(nn.Module):
    """Picks three different elements one after another, masking those picked in place."""

    def __init__(self):
        super().__init__()
        self.cell, self.query = nn.GRUCell(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        n = x.size(0)
        state, word = x.mean(1), torch.zeros(n, 4)
        closed = torch.zeros(n, x.size(1), dtype=torch.bool)
        picks, rows = [], torch.arange(n)
        for _ in range(3):
            state = self.cell(word, state)
            scores = (x @ self.query(state)[..., None])[..., 0].masked_fill(closed, float("-inf"))
            pick = scores.argmax(-1)
            closed[rows, pick] = True
            word = x[rows, pick]
            picks.append(pick)
        return torch.stack(picks, 1), closed


class ConvTasNet(nn.Module):
    """Masks over learned frames of a wave, added up again where they overlap."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Conv1d(1, 6, 8, 4, bias=False), nn.ConvTranspose1d(6, 1, 8, 4, bias=False)
        self.norm = nn.GroupNorm(1, 6)
        self.blocks = nn.Sequential(
            nn.Conv1d(6, 8, 1), nn.PReLU(), nn.Conv1d(8, 8, 3, padding=2, dilation=2, groups=8), nn.Conv1d(8, 12, 1)
        )

    def forward(self, wave):
        rest = (4 - (wave.size(-1) - 8) % 4) % 4
        w = self.encoder(F.pad(wave[:, None], (0, rest))).relu()
        masks = self.blocks(self.norm(w)).view(wave.size(0), 2, 6, -1).softmax(1)
        out = self.decoder((w[:, None] * masks).flatten(0, 1)).view(wave.size(0), 2, -1)
        return out[..., : wave.size(-1)]


class Coupling(nn.Module):
    """A normalising flow: half of the elements scale and move the other half, the halves in turn."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 6)) for _ in range(2))

    def forward(self, x):
        x, log = x.clone(), torch.zeros(x.shape[0])
        for i, net in enumerate(self.nets):
            scale, move = net(x[:, i::2]).chunk(2, 1)
            x[:, 1 - i :: 2] = x[:, 1 - i :: 2] * scale.tanh().exp() + move
            log += scale.tanh().sum(1)
        return x, log - 0.5 * (x**2).sum(1) - 3 * math.log(2 * math.pi)


class Perceiver(nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.zeros(3, 8))
        self.cross, self.own = (nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        z = self.latents.unsqueeze(0).expand(x.size(0), -1, -1)
        z = z + self.cross(z, x, x, need_weights=False)[0]
        y, weights = self.own(self.norm(z), self.norm(z), self.norm(z))
        return z + y, weights


class ConvNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, 8, 2, 2), nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm, self.up, self.down = nn.LayerNorm(8, eps=1e-6), nn.Linear(8, 32), nn.Linear(32, 8)
        self.gamma = nn.Parameter(torch.ones(8))

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = F.gelu(self.up(y))
        y = y * (1 + y / (torch.norm(y, p=2, dim=(1, 2), keepdim=True).mean(-1, keepdim=True) + 1e-6))
        return x + (self.gamma * self.down(y)).permute(0, 3, 1, 2)


class ASPP(nn.Module):
    """DeepLab's pyramid of dilations and a pooled branch, enlarged to the image."""

    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 4, 3, 2, 1)
        self.branches = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=d, dilation=d) for d in (1, 2, 3))
        self.pooled, self.last = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 4, 1)), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        f = self.body(x)
        parts = [b(f) for b in self.branches]
        parts.append(F.interpolate(self.pooled(f), size=f.shape[-2:], mode="bilinear", align_corners=False))
        y = F.interpolate(self.last(torch.cat(parts, 1)), size=x.shape[-2:], mode="bilinear", align_corners=True)
        return y.argmax(1), y


class ViT(nn.Module):
    """A class token, and positions of a square resized to the image's patches."""

    def __init__(self):
        super().__init__()
        self.patch, self.cls = nn.Conv2d(3, 8, 4, 4), nn.Parameter(torch.zeros(1, 1, 8))
        self.place = nn.Parameter(torch.zeros(1, 1 + 9, 8))
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu")

    def forward(self, x):
        f = self.patch(x)
        h, w = f.shape[-2:]
        grid = self.place[:, 1:].reshape(1, 3, 3, 8).permute(0, 3, 1, 2)
        grid = (
            F.interpolate(grid, size=(h, w), mode="bicubic", align_corners=False).permute(0, 2, 3, 1).reshape(1, -1, 8)
        )
        tokens = f.flatten(2).transpose(1, 2) + grid
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1) + self.place[:, :1], tokens], 1)
        return self.block(x)[:, 0]


class Correlation(nn.Module):
    """FlowNet's cost volume: one image's features against the other's, moved by up to two places."""

    def forward(self, a, b):
        n, _, h, w = a.shape
        wide = F.pad(b, (2, 2, 2, 2))
        out = torch.zeros(n, 25, h, w)
        for i in range(5):
            for j in range(5):
                out[:, i * 5 + j] = (a * wide[:, :, i : i + h, j : j + w]).mean(1)
        return F.leaky_relu(out, 0.1)


class Memory(nn.Module):
    """A neural Turing machine's head: by content, moved by a circular convolution, sharpened; erase and add."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 4 + 1 + 3 + 1 + 4 + 4)

    def forward(self, x, memory):
        key, beta, shift, gamma, erase, add = self.head(x).split([4, 1, 3, 1, 4, 4], -1)
        w = (F.softplus(beta) * F.cosine_similarity(memory, key[:, None], dim=-1)).softmax(-1)
        s = shift.softmax(-1)
        w = torch.stack([w.roll(i - 1, 1) * s[:, i : i + 1] for i in range(3)]).sum(0)
        w = (w + 1e-8) ** (1 + F.softplus(gamma))
        w = w / w.sum(-1, keepdim=True)
        return memory * (1 - w[..., None] * erase.sigmoid()[:, None]) + w[..., None] * add[:, None], w


class RungeKutta(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 3))

    def forward(self, y, times):
        path = [y]
        for i in range(3):
            h = times[i + 1] - times[i]
            a = self.net(y)
            b = self.net(y + h / 2 * a)
            c = self.net(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + self.net(y + h * c))
            path.append(y)
        return torch.stack(path)


class CharCNN(nn.Module):
    """Characters by convolutions of several widths, the largest over time, and a highway."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 4, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(4, 3, k, padding=k // 2) for k in (1, 3, 5))
        self.gate, self.plain = nn.Linear(9, 9), nn.Linear(9, 9)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        x = torch.cat([c(x).max(-1)[0] for c in self.convs], 1)
        t = self.gate(x).sigmoid()
        return t * F.relu(self.plain(x)) + (1 - t) * x


class LinearAttention(nn.Module):
    """Causal attention as running sums of products of positive features."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(6, 18)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state = torch.einsum("bld,ble->blde", k, v).cumsum(1)
        return torch.einsum("bld,blde->ble", q, state) / (q * k.cumsum(1)).sum(-1, keepdim=True)


class MaskedPooling(nn.Module):
    """Words of a padded batch: the padding is written over through a mask; statistics of what is there."""

    def __init__(self):
        super().__init__()
        self.embed, self.net = nn.Embedding(11, 6), nn.Linear(18, 3)

    def forward(self, ids, lengths):
        x = self.embed(ids)
        padded = torch.arange(ids.size(1)) >= lengths[:, None]
        x[padded] = 0.0
        mean = x.sum(1) / lengths[:, None]
        x[padded] = float("-inf")
        last = x[torch.arange(ids.size(0)), lengths - 1]
        return self.net(torch.cat([mean, x.amax(1), last], 1))


class Triplets(nn.Module):
    """Pairs above the diagonal, and the hardest of them."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(5, 4)

    def forward(self, x, labels):
        z = F.normalize(self.net(x))
        near = 1 - z @ z.t()
        same = labels[:, None] == labels
        same = same & ~torch.eye(x.size(0), dtype=torch.bool)
        far = torch.where(same, near, torch.zeros_like(near)).amax(1)
        close = near.masked_fill(same | torch.eye(x.size(0), dtype=torch.bool), float("inf")).amin(1)
        return F.relu(far - close.clamp(max=10.0) + 0.2), same.sum(1)


class Steps(nn.Module):
    """A state in a buffer, written each time."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(4, 3))
        self.net = nn.Linear(3, 3)

    def forward(self, x):
        self.state[1:] = self.state[:-1].clone()
        self.state[0] = self.net(x).mean(0)
        return self.state.sum(0) * x


def _rays():
    return NeRF(), (sample(4, 3), sample(4, 3) + 1), [(sample(7, 3), sample(7, 3) * 2)], (BATCH, BATCH)


def _rotary():
    def inputs(n, length, most, start):
        return sample(n, length, 8), torch.zeros(n, most, 8), torch.tensor(start)

    shapes = (TEXT, {0: "batch", 1: "most"}, None)
    return InterleavedRotary(), inputs(2, 3, 9, 2), [inputs(3, 5, 11, 4), inputs(1, 1, 7, 0)], shapes


def _spline():
    def inputs(n):
        return sample(n, 2).sigmoid(), sample(n, 2, 2)

    return Spline(), inputs(4), [inputs(9)], (BATCH, BATCH)


def _graph(make, dense=False):
    def edges(n, count):
        if dense:
            return sample(n, n).abs().round()
        return tokens(2, count, below=n)

    shapes = ({0: "n"}, {0: "n", 1: "n"}) if dense else ({0: "n"}, {1: "edges"})
    return lambda: (make(), (sample(5, 4), edges(5, 7)), [(sample(8, 4), edges(8, 20))], shapes)


def _batch(make, *shape, more=5):
    return lambda: (make(), (sample(2, *shape),), [(sample(more, *shape),), (sample(1, *shape),)], (BATCH,))


def _image(make, *shape, others=IMAGES):
    return lambda: (make(), (sample(2, *shape),), [(sample(*s),) for s in others], (IMAGE,))


def _sequence(make, width, others=((3, 9), (1, 6))):
    return lambda: (make(), (sample(2, 5, width),), [(sample(n, length, width),) for n, length in others], (TEXT,))


def _padded():
    def inputs(n, length):
        return tokens(n, length), length - torch.arange(n) % 2

    return MaskedPooling(), inputs(2, 5), [inputs(4, 7), inputs(1, 3)], (TEXT, BATCH)


def _table():
    def inputs(n):
        return sample(n, 4), tokens(n, 2)

    return Table(), inputs(3), [inputs(6)], (BATCH, BATCH)


def _memory():
    def inputs(n, places):
        return sample(n, 6), sample(n, places, 4)

    return Memory(), inputs(2, 5), [inputs(3, 8)], (BATCH, {0: "batch", 1: "places"})


def _flow():
    shapes = ({0: "batch", 2: "height", 3: "width"},) * 2
    return (
        Correlation(),
        (sample(2, 3, 6, 5), sample(2, 3, 6, 5) + 1),
        [(sample(1, 3, 8, 9), sample(1, 3, 8, 9))],
        shapes,
    )


def _triplets():
    def inputs(n):
        return sample(n, 5), torch.arange(n) % 3

    return Triplets(), inputs(4), [inputs(7)], (BATCH, BATCH)


SQUARES = ((1, 3, 12, 12), (3, 3, 16, 20))
NETWORKS = {
    "NeRF": _rays, "interleaved rotary": _rotary, "spline flow": _spline, "table": _table, "quantiles": _batch(Quantiles, 4),
    "RWKV": _sequence(RWKV, 6), "YOLO": _image(Yolo, 3, 16, 16, others=((1, 3, 32, 16), (3, 3, 16, 24))), "GAT": _graph(GAT),
    "dense GCN": _graph(DenseGCN, dense=True), "capsules": _batch(Routing, 6, 4), "VQ-VAE": _image(Codebook, 3, 8, 8, others=SQUARES),
    "DETR": _image(DETR, 3, 8, 8), "DeepFM": lambda: (DeepFM(), (tokens(2, 3, below=3),), [(tokens(7, 3, below=3),)], (BATCH,)),
    "CRF": _batch(CRF, 5, 4), "pointer": _sequence(Pointer, 4), "Conv-TasNet": lambda: (
        ConvTasNet(), (sample(2, 30),), [(sample(1, 61),), (sample(3, 24),)], (TEXT,)),
    "coupling": _batch(Coupling, 6), "perceiver": _sequence(Perceiver, 8), "ConvNeXt": _image(ConvNeXt, 3, 8, 8),
    "DeepLab": _image(ASPP, 3, 8, 8), "ViT": _image(ViT, 3, 12, 12, others=SQUARES), "FlowNet": _flow, "memory": _memory,
    "Runge-Kutta": lambda: (
        RungeKutta(), (sample(2, 3), torch.linspace(0, 1, 4)), [(sample(5, 3), torch.linspace(0, 2, 4))], (BATCH, None)),
    "CharCNN": lambda: (CharCNN(), (tokens(2, 5),), [(tokens(3, 9),)], (TEXT,)), "linear attention": _sequence(LinearAttention, 6),
    "masked pooling": _padded, "triplets": _triplets, "steps": _batch(Steps, 3),
}  # fmt: skip
