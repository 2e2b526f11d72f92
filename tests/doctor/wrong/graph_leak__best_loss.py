import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.001)


class Meter:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)  # here

    def average(self):
        return sum(v.item() for v in self.values) / len(self.values)


meter = Meter()
for step in range(15):
    x = torch.randn(32, 8)
    opt.zero_grad()
    loss = (model(x) - x.mean(1, keepdim=True)).pow(2).mean()
    loss.backward()
    opt.step()
    meter.update(loss)  # or here
print("finished")
