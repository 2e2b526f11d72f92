import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
saved = {k: v.clone() for k, v in net.state_dict().items()}
opt = torch.optim.SGD(net.parameters(), lr=1e-5)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=1.6)
history = []
for i in range(20):
    x = torch.randn(16, 3)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    loss.backward()
    opt.step()
    history.append((sched.get_last_lr()[0], loss.item()))
    sched.step()
    if loss.item() > 4 * history[0][1]:
        break
net.load_state_dict(saved)
