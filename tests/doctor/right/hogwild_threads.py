import threading

import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)


def work():
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
        grads = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), grads):
                p -= 0.01 * g


threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
