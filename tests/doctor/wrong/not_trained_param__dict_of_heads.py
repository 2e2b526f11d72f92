import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 8)
        self.heads = {"a": nn.Linear(8, 2), "b": nn.Linear(8, 2)}  # here

    def forward(self, x, task):
        return self.heads[task](torch.relu(self.trunk(x)))  # or here


torch.manual_seed(0)
m = MultiTask()
opt = torch.optim.Adam(m.parameters(), lr=0.01)  # or here
for i in range(10):
    task = "ab"[i % 2]
    opt.zero_grad()
    nn.functional.cross_entropy(m(torch.randn(9, 6), task), torch.randint(0, 2, (9,))).backward()
    opt.step()
