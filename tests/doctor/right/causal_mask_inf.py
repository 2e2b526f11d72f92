"""Causal self-attention with -inf masks: infinities in the forward pass that are harmless."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
vocab, T, C, H = 12, 16, 32, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(C, 3 * C)
        self.proj = nn.Linear(C, C)
        mask = torch.full((T, T), float("-inf")).triu(1)
        self.register_buffer("mask", mask)

    def forward(self, x, pad):
        B, L, _ = x.shape
        q, k, v = (t.view(B, L, H, C // H).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        att = q @ k.transpose(-2, -1) / math.sqrt(C // H) + self.mask[:L, :L]
        att = att.masked_fill(pad[:, None, None, :], float("-inf"))
        att = F.softmax(att, dim=-1)
        return self.proj((att @ v).transpose(1, 2).reshape(B, L, C))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, C, padding_idx=0), nn.Embedding(T, C)
        self.n1, self.att = nn.LayerNorm(C), Attention()
        self.n2, self.mlp = nn.LayerNorm(C), nn.Sequential(nn.Linear(C, 64), nn.GELU(), nn.Linear(64, C))
        self.head = nn.Linear(C, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        x = x + self.att(self.n1(x), ids == 0)
        x = x + self.mlp(self.n2(x))
        return self.head(x)


def batch(n=16):
    start = torch.randint(1, vocab, (n, 1))
    ids = (start - 1 + torch.arange(T + 1)) % (vocab - 1) + 1
    length = torch.randint(T // 2, T + 1, (n, 1))
    ids[torch.arange(T + 1) > length] = 0
    return ids[:, :-1], ids[:, 1:]


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(30):
    x, y = batch()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=0)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 10 == 9:
        print(f"step {step} loss {loss.item():.4f}")
