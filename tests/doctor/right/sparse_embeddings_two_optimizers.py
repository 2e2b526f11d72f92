"""Recommender: SparseAdam for the embeddings, Adam for the rest; most rows get no gradient in a step."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(124)
N_USERS, N_ITEMS, DIM = 300, 200, 8


class Ratings(Dataset):
    def __init__(self, n):
        u, i = torch.randn(N_USERS, 3), torch.randn(N_ITEMS, 3)
        self.users, self.items = torch.randint(0, N_USERS, (n,)), torch.randint(0, N_ITEMS, (n,))
        self.ratings = (u[self.users] * i[self.items]).sum(1)

    def __len__(self):
        return len(self.users)

    def __getitem__(self, k):
        return self.users[k], self.items[k], self.ratings[k]


class MF(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(N_USERS, DIM, sparse=True)
        self.item = nn.Embedding(N_ITEMS, DIM, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(2 * DIM, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, u, i):
        u, i = self.user(u), self.item(i)
        return (u * i).sum(1) + self.mlp(torch.cat([u, i], 1)).squeeze(1)


model = MF()
sparse_opt = torch.optim.SparseAdam([model.user.weight, model.item.weight], lr=2e-2)
dense_opt = torch.optim.Adam(model.mlp.parameters(), lr=5e-3)
optimizers = (sparse_opt, dense_opt)
loader = DataLoader(Ratings(480), batch_size=32, shuffle=True)
for epoch in range(4):
    total, touched = 0.0, set()
    for u, i, r in loader:
        for opt in optimizers:
            opt.zero_grad()
        loss = F.mse_loss(model(u, i), r)
        loss.backward()
        for opt in optimizers:
            opt.step()
        total += loss.item() * len(r)
        touched.update(u.tolist())
    print(f"epoch {epoch} mse {total / 480:.4f} users seen {len(touched)}/{N_USERS}")
