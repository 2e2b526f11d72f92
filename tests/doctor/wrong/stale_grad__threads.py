import threading

import torch
import torch.nn.functional as F
from torch import nn


def work():
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
        loss.backward()  # here
        opt.step()  # or here


t = threading.Thread(target=work)
t.start()
t.join()
