"""Prototype classification: distances to the class prototypes as logits."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, d_in=10, d_out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 32), nn.GELU(), nn.Linear(32, d_out))

    def forward(self, x):
        return self.net(x)


def sample(centers, n):
    y = torch.randint(0, len(centers), (n,))
    return centers[y] + 0.5 * torch.randn(n, centers.size(1)), y


torch.manual_seed(0)
centers = torch.randn(5, 10)
encoder = Encoder()
opt = torch.optim.Adam(encoder.parameters(), lr=1e-3)

support = torch.stack([c + 0.5 * torch.randn(6, 10) for c in centers])
prototypes = encoder(support).mean(dim=1)  # here

for episode in range(15):  # or here
    query, label = sample(centers, 40)
    dist = torch.cdist(encoder(query), prototypes)  # or here
    loss = F.cross_entropy(-dist, label)
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
    if episode % 5 == 0:
        acc = (dist.argmin(1) == label).float().mean().item()
        print(f"episode {episode} loss {loss.item():.3f} acc {acc:.2f}")
