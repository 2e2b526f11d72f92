import torch
from torch import nn


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    (grad,) = torch.autograd.grad(  # here
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
        retain_graph=True,
    )
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
C = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, oc = torch.optim.Adam(G.parameters(), lr=1e-4), torch.optim.Adam(C.parameters(), lr=1e-4)
for it in range(10):
    real = torch.randn(16, 2)
    fake = G(torch.randn(16, 3)).detach()
    oc.zero_grad()
    loss = C(fake).mean() - C(real).mean() + 10 * gradient_penalty(C, real, fake)
    loss.backward()
    oc.step()
    if it % 5 == 4:
        og.zero_grad()
        (-C(G(torch.randn(16, 3))).mean()).backward()
        og.step()
print("ok")
