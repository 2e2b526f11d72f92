"""Fine-tuning on prompt + answer; only the answer tokens count."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from dataclasses import dataclass


@dataclass
class TrainConfig:
    accumulate: int = 3
    steps: int = 10
    lr: float = 2e-3
    vocab: int = 32


class CausalLM(nn.Module):
    def __init__(self, cfg, dim=32):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, cfg.vocab)

    def forward(self, ids, labels):
        logits = self.head(self.lstm(self.emb(ids))[0])[:, :-1]
        return F.cross_entropy(  # here
            logits.flatten(0, 1),
            labels[:, 1:].flatten(),
            ignore_index=-100,
        )


def examples(cfg, answer_lengths):
    for answer in answer_lengths:
        ids = torch.cumsum(torch.randint(0, 3, (4, 30)), 1) % cfg.vocab
        labels = ids.clone()
        labels[:, :30 - answer] = -100
        yield ids, labels


def main():
    torch.manual_seed(0)
    cfg = TrainConfig()
    model = CausalLM(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        window = examples(cfg, [2, 8, 25])
        total = 0.0
        for ids, labels in window:
            loss = model(ids, labels) / cfg.accumulate  # or here
            loss.backward()  # or here
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step} loss {total:.4f}")


main()
