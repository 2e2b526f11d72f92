"""WGAN with weight clipping. The critic's last bias cancels in E[D(real)] - E[D(fake)]: its gradient is zero for ever."""
import torch
import torch.nn as nn

torch.manual_seed(42)
latent_dim, n_critic, clip_value = 6, 4, 0.05

generator = nn.Sequential(nn.Linear(latent_dim, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optimizer_G = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
optimizer_D = torch.optim.RMSprop(critic.parameters(), lr=5e-4)

centre = torch.tensor([1.5, -0.5])
data = centre + 0.3 * torch.randn(640, 2)

batches_done = 0
for epoch in range(3):
    for i, real in enumerate(data[torch.randperm(len(data))].split(32)):
        optimizer_D.zero_grad()
        z = torch.randn(real.shape[0], latent_dim)
        fake = generator(z).detach()
        loss_D = -torch.mean(critic(real)) + torch.mean(critic(fake))
        loss_D.backward()
        optimizer_D.step()

        for p in critic.parameters():
            p.data.clamp_(-clip_value, clip_value)

        if i % n_critic == 0:
            optimizer_G.zero_grad()
            gen = generator(torch.randn(real.shape[0], latent_dim))
            loss_G = -torch.mean(critic(gen))
            loss_G.backward()
            optimizer_G.step()
            batches_done += 1
    print(f"[epoch {epoch}] D {loss_D.item():.5f} G {loss_G.item():.5f} ({batches_done} G steps)")
