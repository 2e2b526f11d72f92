"""RankNet: all pairs by broadcasting (N,1) against (1,N), which is meant."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)


class Scorer(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, docs):
        return self.net(docs)


def pairwise_loss(scores, relevance):
    diff = scores - scores.t()                              # (N,1) - (1,N)
    higher = (relevance[:, None] > relevance[None, :]).float()
    loss = F.softplus(-diff) * higher
    return loss.sum() / higher.sum().clamp(min=1)


def distance_match(scores, relevance):
    predicted = (scores - scores.t()) ** 2
    wanted = (relevance.view(-1, 1) - relevance.view(1, -1)) ** 2
    return F.mse_loss(predicted, wanted)


@torch.no_grad()
def ndcg(scores, relevance, k=5):
    order = scores.flatten().argsort(descending=True)[:k]
    best = relevance.sort(descending=True).values[:k]
    discount = torch.log2(torch.arange(2, k + 2).float())
    return ((2 ** relevance[order] - 1) / discount).sum() / ((2 ** best - 1) / discount).sum()


queries = []
w = torch.randn(6)
for _ in range(20):
    docs = torch.randn(12, 6)
    queries.append((docs, (docs @ w).clamp(-2, 2).add(2).round()))
model = Scorer(6)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    for q in torch.randperm(16).tolist():
        docs, relevance = queries[q]
        scores = model(docs)
        loss = pairwise_loss(scores, relevance) + 0.01 * distance_match(scores, relevance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = sum(ndcg(model(d), r).item() for d, r in queries[16:]) / 4
    model.train()
    print(f"epoch {epoch} loss {loss.item():.4f} ndcg@5 {val:.3f}")
