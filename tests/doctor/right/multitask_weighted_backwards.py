"""Three task losses with their own weights, each backwarded as soon as it is computed, then one step."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from dataclasses import dataclass

torch.manual_seed(21)


@dataclass
class Config:
    w_cls: float = 1.0
    w_box: float = 2.0
    w_depth: float = 1.0
    lr: float = 2e-3
    epochs: int = 3


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.cls = nn.Linear(32, 4)
        self.box = nn.Linear(32, 4)
        self.depth = nn.Linear(32, 1)

    def features(self, x):
        return self.trunk(x)


cfg = Config()
X = torch.randn(160, 16)
cls_t = X[:, :4].argmax(1)
box_t = X[:, 4:8].tanh()
depth_t = X[:, 8:9] ** 2
model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(cfg.epochs):
    logs = torch.zeros(3)
    for idx in torch.randperm(160).split(16):
        optimizer.zero_grad()
        # one forward per task: saves memory, since each graph dies right after its backward
        loss_cls = cfg.w_cls * F.cross_entropy(model.cls(model.features(X[idx])), cls_t[idx])
        loss_cls.backward()
        loss_box = cfg.w_box * F.smooth_l1_loss(model.box(model.features(X[idx])), box_t[idx])
        loss_box.backward()
        loss_depth = cfg.w_depth * F.mse_loss(model.depth(model.features(X[idx])), depth_t[idx])
        loss_depth.backward()
        optimizer.step()
        logs += torch.stack([loss_cls.detach(), loss_box.detach(), loss_depth.detach()])
    print(epoch, (logs / 10).tolist())
