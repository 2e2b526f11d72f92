import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
sch = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
dl = DataLoader(TensorDataset(torch.randn(48, 3), torch.randn(48, 1)), 8)
for e in range(4):
    for x, y in dl:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
        sch.step()  # here
print("x")
