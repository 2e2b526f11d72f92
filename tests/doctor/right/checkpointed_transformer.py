"""Gradient checkpointing: blocks run without a graph first and again during backward."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(60)


class Block(nn.Module):
    def __init__(self, dim, heads=2, p=0.1):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=p, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(p), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class Model(nn.Module):
    def __init__(self, dim=16, depth=3):
        super().__init__()
        self.embed = nn.Linear(4, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.tail = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.training else block(x)
        x = x.mean(1)
        x = checkpoint_sequential(self.tail, 2, x, use_reentrant=True) if self.training else self.tail(x)
        return self.head(x)


X = torch.randn(150, 6, 4)
Y = (X[:, :, 0].max(1).values > X[:, :, 1].max(1).values).long()
model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(3):
    model.train()
    for idx in torch.randperm(120).split(12):
        loss = F.cross_entropy(model(X[idx]), Y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.inference_mode():
        acc = (model(X[120:]).argmax(1) == Y[120:]).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} val acc {acc.item():.3f}")
