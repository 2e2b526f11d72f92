"""The larger networks of the training steps, made from a given `torch`'s modules."""

from __future__ import annotations

from itertools import pairwise


def resnet18_network(torch):
    """ResNet-18 (He et al. 2015) for 32 x 32 images: a 3x3 stem of stride 1 and no max pool; (N, 3, 32, 32) -> (N, 10)."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, channels: int, planes: int, stride: int):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.shortcut = nn.Sequential()
            if stride != 1 or channels != planes:
                convolution = nn.Conv2d(channels, planes, 1, stride, bias=False)
                self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(planes))

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)))
            return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    channels = 64
    for planes in (64, 128, 256, 512):
        layers += [Block(channels, planes, 1 if planes == 64 else 2), Block(planes, planes, 1)]
        channels = planes
    return nn.Sequential(*layers, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(512, 10))


def gpt_network(torch, vocabulary: int, context: int, layers: int, width: int, heads: int):
    """GPT-2's form: pre-norm, learned positions, head tied to the embedding, N(0, 0.02) weights; (N, L) -> (N, L, V)."""
    nn = torch.nn
    block = _gpt_block(torch, width, heads)

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(context, width)
            self.blocks = nn.Sequential(*(block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.tokens.weight
            self.apply(self._initialise)

        def _initialise(self, module):
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

        def forward(self, x):
            x = self.tokens(x) + self.positions(torch.arange(x.size(1)))
            return self.head(self.norm(self.blocks(x)))

    return GPT()


def _gpt_block(torch, width: int, heads: int):
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        """Causal self-attention, (N, L, E) -> (N, L, E)."""

        def __init__(self):
            super().__init__()
            self.project_in = nn.Linear(width, 3 * width)
            self.project_out = nn.Linear(width, width)

        def forward(self, x):
            n, length, _ = x.shape
            q, k, v = (
                t.view(n, length, heads, width // heads).transpose(1, 2) for t in self.project_in(x).split(width, dim=2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.project_out(y.transpose(1, 2).reshape(n, length, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.attention = nn.LayerNorm(width), Attention()
            self.norm2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    return Block


def lstm_network(torch, vocabulary: int, width: int, layers: int, dropout: float):
    """The word language model of PyTorch's examples: (L, N), (h, c) -> (L, N, V), (h, c)."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(dropout)
            self.encoder = nn.Embedding(vocabulary, width)
            self.rnn = nn.LSTM(width, width, num_layers=layers, dropout=dropout)
            self.decoder = nn.Linear(width, vocabulary)
            nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
            nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
            nn.init.zeros_(self.decoder.bias)

        def forward(self, x, hidden):
            out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
            return self.decoder(self.drop(out)), hidden

    return Model()


def generator(torch, nz: int = 100, ngf: int = 64):
    """DCGAN's generator (Radford et al. 2015) in the tutorial's sizes: (N, nz, 1, 1) -> (N, 3, 64, 64) in [-1, 1]."""
    nn = torch.nn
    layers = []
    widths = [nz, 8 * ngf, 4 * ngf, 2 * ngf, ngf]
    for k, (channels, planes) in enumerate(pairwise(widths)):
        geometry = (4, 2, 1) if k else (4, 1, 0)
        layers += [nn.ConvTranspose2d(channels, planes, *geometry, bias=False), nn.BatchNorm2d(planes), nn.ReLU(True)]
    return _gan_weights(torch, nn.Sequential(*layers, nn.ConvTranspose2d(ngf, 3, 4, 2, 1, bias=False), nn.Tanh()))


def discriminator(torch, ndf: int = 64):
    """DCGAN's discriminator: (N, 3, 64, 64) -> (N, 1, 1, 1), the probability that an image is real."""
    nn = torch.nn
    layers = [nn.Conv2d(3, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
    for k in (1, 2, 4):
        layers += [nn.Conv2d(k * ndf, 2 * k * ndf, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * k * ndf)]
        layers += [nn.LeakyReLU(0.2, inplace=True)]
    return _gan_weights(torch, nn.Sequential(*layers, nn.Conv2d(8 * ndf, 1, 4, 1, 0, bias=False), nn.Sigmoid()))


def _gan_weights(torch, network):
    for module in network.modules():
        kind = type(module).__name__
        if "Conv" in kind:
            torch.nn.init.normal_(module.weight, 0.0, 0.02)
        elif "BatchNorm" in kind:
            torch.nn.init.normal_(module.weight, 1.0, 0.02)
    return network
