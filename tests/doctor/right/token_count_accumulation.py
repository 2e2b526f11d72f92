"""Accumulation over sequences of different lengths: sum over tokens, divided by the window's token count."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(33)
VOCAB, PAD, ACCUM = 11, -100, 4


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB + 1, 16, padding_idx=VOCAB)
        self.gru = nn.GRU(16, 24, batch_first=True)
        self.out = nn.Linear(24, VOCAB)

    def forward(self, ids):
        return self.out(self.gru(self.emb(ids))[0])


def make_sequences(n):
    out = []
    for _ in range(n):
        length = int(torch.randint(4, 28, ()))
        start, stride = torch.randint(0, VOCAB, (2,)).tolist()
        out.append((start + max(stride, 1) * torch.arange(length + 1)) % VOCAB)
    return out


def collate(seqs):
    x = pad_sequence([s[:-1] for s in seqs], batch_first=True, padding_value=VOCAB)
    y = pad_sequence([s[1:] for s in seqs], batch_first=True, padding_value=PAD)
    return x, y


def windows(loader, size):
    window = []
    for batch in loader:
        window.append(batch)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


seqs = make_sequences(120)
model = Tagger()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(4):
    order = torch.randperm(len(seqs)).tolist()
    loader = (collate([seqs[j] for j in order[i:i + 5]]) for i in range(0, len(order), 5))
    for window in windows(loader, ACCUM):
        n_tokens = sum((y != PAD).sum() for _, y in window)
        window_loss = 0.0
        opt.zero_grad()
        for x, y in window:
            logits = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PAD, reduction="sum") / n_tokens
            loss.backward()
            window_loss += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    print(f"epoch {epoch} loss/token {window_loss:.4f}")
