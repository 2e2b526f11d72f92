"""pytorch-optimizer: the losses of five steps of every optimizer it has, on a small convolutional network."""

import inspect

import fixed
import pytorch_optimizer
import torch
from torch import nn

images, labels = fixed.numbers(4, 1, 8, 8), torch.tensor([0, 2, 1, 2])
ARGUMENTS = {
    "shampoo": {"preconditioning_compute_steps": 1},
    "scalableshampoo": {"start_preconditioning_step": 1},
    "ranger21": {"num_iterations": 10},
    "bsam": {"num_data": 4},
}
WITHOUT = (
    "adalomo",
    "adammini",
    "alig",
    "distributedmuon",
    "demo",
    "lomo",
    "spectralsphere",
)  # for several processes, or of other arguments


def network():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8), nn.Tanh(), nn.Linear(8, 3))


def losses_of(name):
    torch.manual_seed(0)
    model = fixed.fill(network())
    kind = pytorch_optimizer.load_optimizer(name)
    options = ARGUMENTS.get(name, {})
    if "lr" in inspect.signature(kind).parameters:
        options = {"lr": 1e-2, **options}
    optimizer = kind(_parameters(name, model), **options)
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


def _parameters(name, model):
    if name in ("adago", "muon", "adamuon", "muonclip", "normuon"):
        matrices = [p for p in model.parameters() if p.ndim > 1]
        others = [p for p in model.parameters() if p.ndim == 1]
        return [{"params": matrices, "use_muon": True}, {"params": others, "use_muon": False}]
    return model.parameters()


def schedules():
    """Learning rates of its schedules."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    found = {}
    for name in ("CosineAnnealingWarmupRestarts", "CosineScheduler", "LinearScheduler", "PolyScheduler"):
        kind = getattr(pytorch_optimizer, name)
        options = (
            {"first_cycle_steps": 5, "warmup_steps": 2}
            if "Restarts" in name
            else {"t_max": 8, "max_lr": 0.1, "warmup_steps": 2}
        )
        schedule = kind(optimizer, **options)
        found[name] = []
        for _ in range(6):
            schedule.step()
            found[name].append(optimizer.param_groups[0]["lr"])
    return found


NAMES = [name for name in pytorch_optimizer.get_supported_optimizers() if name not in WITHOUT]
fixed.main({**{name: (lambda name=name: losses_of(name)) for name in NAMES}, "schedules": schedules})
