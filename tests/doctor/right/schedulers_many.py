import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(40, 3), torch.randn(40, 1)), batch_size=8)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
warm = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=5)
cos = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [warm, cos], milestones=[5])
other = nn.Linear(3, 1)
opt2 = torch.optim.Adam(other.parameters())
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt2, patience=1)
for epoch in range(3):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
        sched.step()
        opt2.zero_grad()
        loss = nn.functional.l1_loss(other(x), y)
        loss.backward()
        opt2.step()
    plateau.step(loss.item())
