"""Sparse mixture of experts: many experts get no token in most batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return self.net(x)


class SparseMoE(nn.Module):
    def __init__(self, dim=16, n_experts=12, top_k=1):
        super().__init__()
        self.router = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, 32) for _ in range(n_experts))
        self.top_k = top_k

    def forward(self, x):
        gates = F.softmax(self.router(x), dim=-1)
        weight, index = gates.topk(self.top_k, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows, slot = torch.where(index == e)
            if rows.numel() == 0:
                continue
            out = out.index_add(0, rows, expert(x[rows]) * weight[rows, slot].unsqueeze(-1))
        load = F.one_hot(index[:, 0], len(self.experts)).float().mean(0)
        aux = len(self.experts) * (load * gates.mean(0)).sum()
        return x + out, aux


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.moe = SparseMoE()
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        h, aux = self.moe(torch.relu(self.embed(x)))
        return self.head(h), aux


X = torch.randn(96, 8)
Y = (X[:, :4]).argmax(dim=1)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    perm = torch.randperm(len(X))
    total = 0.0
    for idx in perm.split(6):
        logits, aux = model(X[idx])
        loss = F.cross_entropy(logits, Y[idx]) + 0.01 * aux
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 16:.4f}")
