"""GradNorm (Chen et al. 2018): task weights learn from the gradient norms of the last shared layer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
alpha = 0.8


class Shared(nn.Module):
    def __init__(self, n_tasks=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32))
        self.heads = nn.ModuleList(nn.Linear(32, 5) for _ in range(n_tasks))

    def forward(self, x):
        h = torch.relu(self.body(x))
        return [head(h) for head in self.heads]

    def last_shared(self):
        return self.body[-1].weight


X = torch.randn(160, 12)
B = torch.randn(12, 5)
targets = [torch.tanh(X @ B), 10 * torch.tanh(X @ (B + 0.5 * torch.randn(12, 5)))]
model = Shared()
weights = nn.Parameter(torch.ones(2))
opt_model = torch.optim.Adam(model.parameters(), lr=2e-3)
opt_weights = torch.optim.Adam([weights], lr=2e-2)
initial = None
for epoch in range(3):
    for idx in torch.randperm(160).split(16):
        outs = model(X[idx])
        task_losses = torch.stack([F.mse_loss(o, t[idx]) for o, t in zip(outs, targets)])
        if initial is None:
            initial = task_losses.detach()

        opt_model.zero_grad()
        (weights.detach() * task_losses).sum().backward(retain_graph=True)

        norms = torch.stack([
            torch.autograd.grad(task_losses[i], model.last_shared(), retain_graph=i == 0)[0].norm()
            for i in range(2)
        ])
        G = weights * norms  # the norm of w_i * grad L_i, differentiable in w_i
        with torch.no_grad():
            ratio = task_losses / initial
            target_norm = G.mean() * (ratio / ratio.mean()) ** alpha
        opt_weights.zero_grad()
        F.l1_loss(G, target_norm, reduction="sum").backward()

        opt_model.step()
        opt_weights.step()
        with torch.no_grad():
            weights.clamp_(min=0.05).mul_(2 / weights.sum())
    print(f"epoch {epoch} losses {task_losses.tolist()} weights {weights.tolist()}")
