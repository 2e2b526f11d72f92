"""CycleGAN in two dimensions: one optimizer over both generators, one per discriminator, image pools."""
import itertools
import random
import torch
import torch.nn as nn

torch.manual_seed(1)
random.seed(1)


def mlp(n_out):
    return nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, n_out))


class ReplayBuffer:
    def __init__(self, max_size=30):
        self.max_size, self.data = max_size, []

    def push_and_pop(self, batch):
        out = []
        for element in batch.detach():
            element = element.unsqueeze(0)
            if len(self.data) < self.max_size:
                self.data.append(element)
                out.append(element)
            elif random.random() > 0.5:
                i = random.randrange(self.max_size)
                out.append(self.data[i].clone())
                self.data[i] = element
            else:
                out.append(element)
        return torch.cat(out)


G_AB, G_BA, D_A, D_B = mlp(2), mlp(2), mlp(1), mlp(1)
gan, cycle, identity = nn.MSELoss(), nn.L1Loss(), nn.L1Loss()
opt_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=2e-3, betas=(0.5, 0.999))
opt_D_A = torch.optim.Adam(D_A.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_D_B = torch.optim.Adam(D_B.parameters(), lr=2e-3, betas=(0.5, 0.999))
pool_A, pool_B = ReplayBuffer(), ReplayBuffer()
A = torch.randn(160, 2) * 0.3 + 1
B = torch.randn(160, 2) * torch.tensor([0.8, 0.1])
for epoch in range(3):
    for a, b in zip(A[torch.randperm(160)].split(16), B[torch.randperm(160)].split(16)):
        ones, zeros = torch.ones(len(a), 1), torch.zeros(len(a), 1)
        opt_G.zero_grad()
        fake_b, fake_a = G_AB(a), G_BA(b)
        loss_id = (identity(G_BA(a), a) + identity(G_AB(b), b)) / 2
        loss_gan = (gan(D_B(fake_b), ones) + gan(D_A(fake_a), ones)) / 2
        loss_cycle = (cycle(G_BA(fake_b), a) + cycle(G_AB(fake_a), b)) / 2
        loss_G = loss_gan + 10.0 * loss_cycle + 5.0 * loss_id
        loss_G.backward()
        opt_G.step()
        for opt, D, real, fake, pool in ((opt_D_A, D_A, a, fake_a, pool_A), (opt_D_B, D_B, b, fake_b, pool_B)):
            opt.zero_grad()
            loss_D = (gan(D(real), ones) + gan(D(pool.push_and_pop(fake)), zeros)) / 2
            loss_D.backward()
            opt.step()
    print(f"[Epoch {epoch}] G {loss_G.item():.4f} cycle {loss_cycle.item():.4f} D {loss_D.item():.4f}")
