import torch
from torch import nn


class Trainer:
    def __init__(self, model, accumulate=4):
        self.model, self.accumulate, self.n = model, accumulate, 0
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)

    def micro_step(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()  # here
        self.n += 1
        if self.n % self.accumulate == 0:
            self.opt.step()
            self.opt.zero_grad(set_to_none=True)
        return loss.item()


torch.manual_seed(0)
t = Trainer(nn.Linear(3, 1))
for _ in range(24):
    t.micro_step(torch.randn(4, 3), torch.randn(4, 1))
