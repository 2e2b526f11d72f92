"""WGAN-GP: create_graph in training; a validation pass reports critic gap and gradient norm with autograd.grad."""
import torch
import torch.nn as nn

torch.manual_seed(77)
LAMBDA, N_CRITIC, NZ = 10.0, 3, 4

G = nn.Sequential(nn.Linear(NZ, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
opt_G = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_D = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.9))


def interpolate(real, fake):
    eps = torch.rand(real.size(0), 1)
    return (eps * real + (1 - eps) * fake).requires_grad_(True)


def gradient_penalty(real, fake):
    x_hat = interpolate(real, fake)
    out = D(x_hat)
    grad = torch.autograd.grad(
        outputs=out, inputs=x_hat, grad_outputs=torch.ones_like(out),
        create_graph=True, retain_graph=True, only_inputs=True,
    )[0]
    return LAMBDA * ((grad.norm(2, dim=1) - 1) ** 2).mean()


def validate(real):
    G.eval()
    D.eval()
    with torch.no_grad():
        fake = G(torch.randn(real.size(0), NZ))
        gap = (D(real).mean() - D(fake).mean()).item()
    x_hat = interpolate(real, fake)
    grad, = torch.autograd.grad(D(x_hat).sum(), x_hat)
    G.train()
    D.train()
    return gap, grad.norm(dim=1).mean().item()


angle = torch.rand(360) * 6.2832
ring = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(360, 2)
train, val = ring[:300], ring[300:]
for epoch in range(4):
    for i, real in enumerate(train[torch.randperm(300)].split(30)):
        with torch.no_grad():
            fake = G(torch.randn(real.size(0), NZ))
        opt_D.zero_grad(set_to_none=True)
        d_loss = D(fake).mean() - D(real).mean() + gradient_penalty(real, fake)
        d_loss.backward()
        opt_D.step()
        if (i + 1) % N_CRITIC == 0:
            for p in D.parameters():
                p.requires_grad_(False)
            opt_G.zero_grad(set_to_none=True)
            g_loss = -D(G(torch.randn(30, NZ))).mean()
            g_loss.backward()
            opt_G.step()
            for p in D.parameters():
                p.requires_grad_(True)
    gap, norm = validate(val)
    print(f"epoch {epoch} D {d_loss.item():.3f} G {g_loss.item():.3f} val gap {gap:.3f} |grad| {norm:.3f}")
