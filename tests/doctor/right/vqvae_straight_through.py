"""VQ-VAE: straight-through x + (q - x).detach(), codebook loss and commitment loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(82)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=8, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        self.codebook.weight.data.uniform_(-1 / n_codes, 1 / n_codes)
        self.beta = beta

    def forward(self, z):
        d = z.pow(2).sum(1, keepdim=True) + self.codebook.weight.pow(2).sum(1) - 2 * z @ self.codebook.weight.t()
        index = d.argmin(1)
        q = self.codebook(index)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, loss, index


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        q, vq_loss, index = self.vq(self.encoder(x))
        return self.decoder(q), vq_loss, index


centres = 2 * torch.randn(6, 10)
X = centres[torch.randint(0, 6, (240,))] + 0.1 * torch.randn(240, 10)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    used = set()
    for x in X[torch.randperm(240)].split(24):
        recon, vq_loss, index = model(x)
        recon_loss = F.mse_loss(recon, x) / X.var()
        loss = recon_loss + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        used.update(index.tolist())
    print(f"epoch {epoch} recon {recon_loss.item():.4f} vq {vq_loss.item():.4f} codes {len(used)}")
