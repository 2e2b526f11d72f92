"""Matrix factorisation for a recommender, trained on sampled ratings."""
import torch
from torch import nn


class MatrixFactorization(nn.Module):
    def __init__(self, users, items, k=8):
        super().__init__()
        self.user = nn.Embedding(users, k)
        self.item = nn.Embedding(items, k)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(dim=1)


class Recommender:
    def __init__(self, users, items):
        self.model = MatrixFactorization(users, items)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.02)

    def _update(self, u, i, rating):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(u, i), rating)  # or here
        self.optimizer.step()  # here
        return loss.item()

    def fit(self, u, i, rating, epochs=3):
        for epoch in range(epochs):
            history = []
            for idx in torch.randperm(len(u)).split(50):
                history.append(self._update(u[idx], i[idx], rating[idx]))
            print(f"epoch {epoch}: mse {sum(history) / len(history):.4f}")


torch.manual_seed(0)
u = torch.randint(0, 30, (400,))
i = torch.randint(0, 20, (400,))
rating = (torch.randn(30, 4)[u] * torch.randn(20, 4)[i]).sum(1)
Recommender(30, 20).fit(u, i, rating)
