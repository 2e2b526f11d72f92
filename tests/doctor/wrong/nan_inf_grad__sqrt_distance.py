import torch
import torch.nn as nn


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, x):
        return self.net(x)


def pairwise_distances(z):
    diff = z.unsqueeze(0) - z.unsqueeze(1)
    return diff.pow(2).sum(dim=-1).sqrt()  # here


def contrastive_loss(z, labels, margin=1.0):
    dist = pairwise_distances(z)
    same = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    pull = same * dist.pow(2)
    push = (1 - same) * torch.relu(margin - dist).pow(2)
    return (pull + push).mean()


def main():
    torch.manual_seed(0)
    centers = torch.randn(4, 8)
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(10):
        labels = torch.randint(0, 4, (24,))
        x = centers[labels] + 0.2 * torch.randn(24, 8)
        loss = contrastive_loss(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


main()
