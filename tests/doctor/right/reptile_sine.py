"""Reptile (Nichol et al. 2018) on sine waves: inner SGD, then the weights are moved back and interpolated."""
import math
import torch
import torch.nn as nn

torch.manual_seed(10)
inner_lr, inner_steps, outer_lr, iterations = 0.02, 8, 0.5, 25
x_all = torch.linspace(-5, 5, 50)[:, None]


def sample_task():
    phase = torch.rand(()) * 2 * math.pi
    amplitude = 0.1 + 4.9 * torch.rand(())
    return lambda x: amplitude * torch.sin(x + phase)


model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


def train_on_batch(x, y):
    model.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    for param in model.parameters():
        param.data -= inner_lr * param.grad.data
    return loss.item()


def predict(x):
    with torch.no_grad():
        return model(x)


plot_task = sample_task()
for iteration in range(iterations):
    before = {k: v.clone() for k, v in model.state_dict().items()}
    task = sample_task()
    y_all = task(x_all)
    order = torch.randperm(50)
    for start in range(0, inner_steps * 5, 5):
        idx = order[start:start + 5]
        train_on_batch(x_all[idx], y_all[idx])
    after = model.state_dict()
    step = outer_lr * (1 - iteration / iterations)
    model.load_state_dict({k: before[k] + (after[k] - before[k]) * step for k in before})

    if (iteration + 1) % 8 == 0:
        saved = {k: v.clone() for k, v in model.state_dict().items()}
        few = torch.linspace(0, 49, 10).long()
        for _ in range(10):
            train_on_batch(x_all[few], plot_task(x_all[few]))
        error = (predict(x_all) - plot_task(x_all)).pow(2).mean().item()
        model.load_state_dict(saved)
        print(f"iteration {iteration + 1} loss after adaptation {error:.3f}")
