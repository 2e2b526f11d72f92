"""torch.func: grad_and_value over functional_call, per-sample norms by vmap, updates of a dict; no backward, no .grad."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, vmap

torch.manual_seed(121)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))
params = {k: v.detach().clone() for k, v in model.named_parameters()}
momentum = {k: torch.zeros_like(v) for k, v in params.items()}


def loss_fn(params, x, y):
    return F.cross_entropy(functional_call(model, params, (x,)), y)


def sample_loss(params, x, y):
    return loss_fn(params, x.unsqueeze(0), y.unsqueeze(0))


step_fn = grad_and_value(loss_fn)
per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))


def sgd(params, momentum, grads, lr=0.1, beta=0.9):
    momentum = {k: beta * momentum[k] + grads[k] for k in params}
    return {k: params[k] - lr * momentum[k] for k in params}, momentum


X = torch.randn(200, 6)
Y = X[:, :3].argmax(1)
for epoch in range(4):
    for idx in torch.randperm(160).split(16):
        grads, loss = step_fn(params, X[idx], Y[idx])
        params, momentum = sgd(params, momentum, grads)
    norms = per_sample(params, X[:32], Y[:32])
    total = torch.stack([g.flatten(1).pow(2).sum(1) for g in norms.values()]).sum(0).sqrt()
    with torch.no_grad():
        acc = (functional_call(model, params, (X[160:],)).argmax(1) == Y[160:]).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc.item():.3f} sample grad norm {total.mean().item():.3f}")
model.load_state_dict(params)
with torch.no_grad():
    print("module loss", F.cross_entropy(model(X), Y).item())
