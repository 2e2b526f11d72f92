"""One graph at a time: softmax(dim=0) runs over the nodes of the graph (attention pooling), which is right."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(97)


class GCNLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)

    def forward(self, x, adj):
        adj = adj + torch.eye(len(adj))
        d = adj.sum(1).rsqrt()
        return self.lin(d[:, None] * adj * d[None, :] @ x)


class GraphClassifier(nn.Module):
    def __init__(self, features=4, hidden=24):
        super().__init__()
        self.g1, self.g2 = GCNLayer(features, hidden), GCNLayer(hidden, hidden)
        self.gate = nn.Sequential(nn.Linear(hidden, 16), nn.Tanh(), nn.Linear(16, 1))
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, adj):
        h = F.relu(self.g1(x, adj))
        h = F.relu(self.g2(h, adj))
        attention = torch.softmax(self.gate(h), dim=0)   # (nodes, 1)
        return self.out((attention * h).sum(dim=0))


def random_graph():
    n = int(torch.randint(6, 14, ()))
    upper = (torch.rand(n, n) < 0.3).float().triu(1)
    x = torch.randn(n, 4)
    return x, upper + upper.T, (x[:, 0].max() > 1.4).long()


graphs = [random_graph() for _ in range(120)]
model = GraphClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
batch_size = 10
for epoch in range(4):
    model.train()
    for idx in torch.randperm(100).split(batch_size):
        logits = torch.stack([model(*graphs[i][:2]) for i in idx.tolist()])
        labels = torch.stack([graphs[i][2] for i in idx.tolist()])
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(x, a).argmax() == y).item() for x, a, y in graphs[100:])
    print(f"epoch {epoch} loss {loss.item():.4f} test acc {hits / 20:.2f}")
