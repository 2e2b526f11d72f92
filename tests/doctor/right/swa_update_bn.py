import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randint(0, 2, (40,))), batch_size=10)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
avg = AveragedModel(net)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
swa = SWALR(opt, swa_lr=0.05, anneal_epochs=2)
for epoch in range(6):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    if epoch >= 3:
        avg.update_parameters(net)
        swa.step()
    else:
        sched.step()
update_bn(loader, avg)
