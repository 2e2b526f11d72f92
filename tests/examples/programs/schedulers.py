"""Every learning-rate scheduler of torch's that the issue names, in a training loop."""

import torch
from torch import nn, optim
from torch.optim import lr_scheduler as s

SCHEDULERS = {
    "StepLR": lambda o: s.StepLR(o, step_size=3, gamma=0.5),
    "MultiStepLR": lambda o: s.MultiStepLR(o, milestones=[2, 5, 9], gamma=0.3),
    "ExponentialLR": lambda o: s.ExponentialLR(o, gamma=0.9),
    "CosineAnnealingLR": lambda o: s.CosineAnnealingLR(o, T_max=8, eta_min=0.001),
    "LambdaLR": lambda o: s.LambdaLR(o, lr_lambda=lambda epoch: 1 / (1 + epoch)),
    "ReduceLROnPlateau": lambda o: s.ReduceLROnPlateau(o, patience=1, factor=0.5, threshold=0.1),
    "OneCycleLR": lambda o: s.OneCycleLR(o, max_lr=0.1, total_steps=12),
}

torch.manual_seed(5)
x = torch.randn(64, 6)
y = x @ torch.randn(6, 2) + 0.1 * torch.randn(64, 2)
for name, make in SCHEDULERS.items():
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = make(optimizer)
    for epoch in range(12):
        optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if name == "ReduceLROnPlateau":
            scheduler.step(loss)
        else:
            scheduler.step()
        print(name, epoch, f"{loss.item():.4f}", f"lr {optimizer.param_groups[0]['lr']:.6f}")
