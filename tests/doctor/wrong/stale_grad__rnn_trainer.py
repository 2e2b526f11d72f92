from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    vocab: int = 20
    dim: int = 16
    hidden: int = 32
    lr: float = 1e-3
    epochs: int = 2


class Tagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab, cfg.dim)
        self.rnn = nn.GRU(cfg.dim, cfg.hidden, batch_first=True)
        self.out = nn.Linear(cfg.hidden, 2)

    def forward(self, tokens):
        h, _ = self.rnn(self.emb(tokens))
        return self.out(h)


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.loss_fn = nn.CrossEntropyLoss()

    def training_step(self, tokens, tags):  # or here
        self.model.train()
        logits = self.model(tokens)
        loss = self.loss_fn(logits.flatten(0, 1), tags.flatten())
        loss.backward()  # here
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()  # or here
        return loss.item()

    def fit(self, batches):
        for epoch in range(self.cfg.epochs):
            losses = [self.training_step(t, y) for t, y in batches]  # or here
            print(epoch, sum(losses) / len(losses), self.accuracy(batches))

    @torch.no_grad()
    def accuracy(self, batches):
        self.model.eval()
        hits = [(self.model(t).argmax(-1) == y).float().mean().item() for t, y in batches]
        return sum(hits) / len(hits)


torch.manual_seed(1)
cfg = Config()
batches = []
for _ in range(10):
    tok = torch.randint(0, cfg.vocab, (8, 12))
    batches.append((tok, (tok % 2).long()))
Trainer(cfg, Tagger(cfg)).fit(batches)
