import torch
import torch.nn.functional as F
from torch import nn


def train_step(model, opt, x, y):
    loss = F.mse_loss(model(x), y)
    loss.backward()  # here
    opt.step()  # or here
    return loss.item()


def main():
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(6):
        train_step(model, opt, torch.randn(8, 4), torch.randn(8, 1))


main()
