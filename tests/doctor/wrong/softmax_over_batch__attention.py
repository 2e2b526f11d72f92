import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 3)
opt = torch.optim.Adam(net.parameters())
nll = nn.NLLLoss()
for _ in range(5):
    x, y = torch.randn(7, 5), torch.randint(0, 3, (7,))
    log_p = torch.log_softmax(net(x), dim=0)  # here
    loss = nll(log_p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
