import torch
from torch import nn

torch.manual_seed(0)
X, y = torch.randn(40, 4), torch.randint(0, 2, (40,))
scores = []
for fold in range(4):
    val = torch.arange(fold * 10, fold * 10 + 10)
    mask = torch.ones(40, dtype=torch.bool)
    mask[val] = False
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for epoch in range(5):
        opt.zero_grad()
        nn.functional.cross_entropy(model(X[mask]), y[mask]).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        scores.append((model(X[val]).argmax(1) == y[val]).float().mean().item())
