import contextlib
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class TrainArgs:
    micro_batch: int = 8
    accumulate: int = 4
    max_updates: int = 12
    lr: float = 3e-3
    clip: float = 0.5


class Accumulator:
    """Steps the optimizer on every n-th exit of the context."""

    def __init__(self, optimizer, params, n, clip):
        self.optimizer, self.params, self.n, self.clip = optimizer, list(params), n, clip
        self.calls = self.updates = 0

    @contextlib.contextmanager
    def micro_step(self):
        yield self
        self.calls += 1
        if self.calls % self.n == 0:
            nn.utils.clip_grad_norm_(self.params, self.clip)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.updates += 1

    def backward(self, loss):
        loss.backward()  # here


class CharTransformer(nn.Module):
    def __init__(self, vocab=20, d=16, ctx=12):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.block = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, vocab)

    def forward(self, idx):
        n = idx.size(1)
        h = self.tok(idx) + self.pos.weight[:n]
        return self.head(self.block(h, src_mask=nn.Transformer.generate_square_subsequent_mask(n)))


def lm_loss(model, idx):
    logits = model(idx[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), idx[:, 1:].flatten())  # or here


def main(args=TrainArgs()):
    torch.manual_seed(1337)
    model = CharTransformer()
    corpus = (torch.arange(4000) * 7 % 20)
    acc = Accumulator(torch.optim.AdamW(model.parameters(), lr=args.lr), model.parameters(), args.accumulate, args.clip)
    while acc.updates < args.max_updates:
        start = torch.randint(0, 3980, (args.micro_batch, 1))
        with acc.micro_step() as step:
            loss = lm_loss(model, corpus[start + torch.arange(13)])
            step.backward(loss)  # or here
    print("final", loss.item())


if __name__ == "__main__":
    main()
