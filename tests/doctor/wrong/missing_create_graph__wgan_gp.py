import torch
import torch.nn as nn

torch.manual_seed(0)
LAMBDA, N_CRITIC, BATCH = 10.0, 3, 32


def critic_net():
    return nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 1))


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    grads = torch.autograd.grad(  # here
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
    )[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


def sample_real():
    theta = torch.randint(0, 8, (BATCH,)) * 0.785
    return torch.stack([theta.cos(), theta.sin()], 1) + 0.05 * torch.randn(BATCH, 2)


G = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
D = critic_net()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))

for iteration in range(12):
    for _ in range(N_CRITIC):
        real = sample_real()
        fake = G(torch.randn(BATCH, 4)).detach()
        gp = gradient_penalty(D, real, fake)  # or here
        loss_d = D(fake).mean() - D(real).mean() + LAMBDA * gp  # or here
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    loss_g = -D(G(torch.randn(BATCH, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if iteration % 4 == 3:
        print(f"iter {iteration + 1} D {loss_d.item():.4f} gp {gp.item():.4f}")
