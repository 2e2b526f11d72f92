"""pytorch-optimizer: the losses of five steps of every optimizer it has, on a small convolutional network."""

import inspect

import fixed
import pytorch_optimizer
import torch
from torch import nn

images, labels = fixed.numbers(4, 1, 8, 8), torch.tensor([0, 2, 1, 2])
# these need something beside parameters: a closure's second pass is given below, these take arguments of their own
ARGUMENTS = {
    "shampoo": {"preconditioning_compute_steps": 1},
    "scalableshampoo": {"start_preconditioning_step": 1},
    "ranger21": {"num_iterations": 10},
    "adammini": None,
    "distributedmuon": None,
    "demo": None,
    "spectralsphere": None,
}


def network():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8), nn.Tanh(), nn.Linear(8, 3))


def losses_of(name):
    torch.manual_seed(0)
    model = fixed.fill(network())
    kind = pytorch_optimizer.load_optimizer(name)
    options = ARGUMENTS.get(name) or {}
    if "lr" in inspect.signature(kind).parameters:
        options = {"lr": 1e-2, **options}
    optimizer = kind(model.parameters(), **options)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward(create_graph=name in ("adahessian", "sophiah"))
        return loss

    for _ in range(5):
        losses.append(closure().item())
        optimizer.step(closure)
    return losses


def schedules():
    """Learning rates of its schedules."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    found = {}
    for name in ("CosineAnnealingWarmupRestarts", "CosineScheduler", "LinearScheduler", "PolyScheduler"):
        kind = getattr(pytorch_optimizer, name)
        options = {"first_cycle_steps": 5, "warmup_steps": 2} if "Restarts" in name else {"t_max": 8, "max_lr": 0.1, "warmup_steps": 2}
        schedule = kind(optimizer, **options)
        found[name] = []
        for _ in range(6):
            schedule.step()
            found[name].append(optimizer.param_groups[0]["lr"])
    return found


NAMES = [name for name in pytorch_optimizer.get_supported_optimizers() if ARGUMENTS.get(name, {}) is not None]
fixed.main({**{name: (lambda name=name: losses_of(name)) for name in NAMES}, "schedules": schedules})
