import argparse
import logging
from collections import OrderedDict
from typing import Dict, List

import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger("kd")


class ConvBlock(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(OrderedDict(conv=nn.Conv2d(cin, cout, 3, padding=1), bn=nn.BatchNorm2d(cout), act=nn.ReLU()))


class CNN(nn.Module):
    def __init__(self, width, classes=4):
        super().__init__()
        self.block1, self.block2 = ConvBlock(1, width), ConvBlock(width, width)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = F.max_pool2d(self.block1(x), 2)
        x = self.block2(x)
        return self.fc(self.drop(x.mean((2, 3))))


class FeatureTap:
    """Keeps the output of some layers of the last forward."""

    def __init__(self, model: nn.Module, names: List[str]):
        self.features: Dict[str, torch.Tensor] = {}
        for name in names:
            model.get_submodule(name).register_forward_hook(self._make(name))

    def _make(self, name):
        def hook(module, args, output):
            self.features[name] = output

        return hook


class Distiller:
    def __init__(self, teacher, student, T=3.0, alpha=0.5, beta=0.1, lr=0.05):
        self.teacher, self.student = teacher, student
        self.T, self.alpha, self.beta = T, alpha, beta
        self.t_tap, self.s_tap = FeatureTap(teacher, ["block2"]), FeatureTap(student, ["block2"])
        self.adapter = nn.Conv2d(4, 8, 1)
        self.opt = torch.optim.SGD([*student.parameters(), *self.adapter.parameters()], lr=lr, momentum=0.9)

    def loss(self, x, y):
        with torch.no_grad():
            t_logits = self.teacher(x)
        s_logits = self.student(x)
        hard = F.cross_entropy(s_logits, y)
        soft = F.kl_div(  # or here
            F.softmax(s_logits / self.T, dim=1),  # here
            F.softmax(t_logits / self.T, dim=1),
            reduction="batchmean",
        ) * self.T**2
        feat = F.mse_loss(self.adapter(self.s_tap.features["block2"]), self.t_tap.features["block2"])
        return self.alpha * hard + (1 - self.alpha) * soft + self.beta * feat

    def step(self, x, y):
        self.student.train()
        self.opt.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.opt.step()
        return loss.item()


def batches(n, size=16):
    for _ in range(n):
        y = torch.randint(0, 4, (size,))
        x = torch.randn(size, 1, 8, 8) + y.view(-1, 1, 1, 1).float() * 0.5
        yield x, y


def pretrain(teacher):
    opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for x, y in batches(8):
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()


def main():
    torch.manual_seed(0)
    teacher, student = CNN(8), CNN(4)
    pretrain(teacher)
    teacher.eval().requires_grad_(False)
    kd = Distiller(teacher, student)
    for i, (x, y) in enumerate(batches(12)):
        loss = kd.step(x, y)
        if i % 4 == 3:
            print(f"step {i} loss {loss:.4f}")
    student.eval()
    with torch.no_grad():
        acc = sum((student(x).argmax(1) == y).float().mean().item() for x, y in batches(3)) / 3
    print("accuracy computed", 0 <= acc <= 1)


main()
