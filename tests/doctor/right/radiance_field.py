import torch
from torch import nn
torch.manual_seed(0)
def enc(x, L=4): return torch.cat([x] + [f(2 ** i * x) for i in range(L) for f in (torch.sin, torch.cos)], -1)
net = nn.Sequential(nn.Linear(27, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), 5e-4)
psnrs = []
for i in range(10):
    pts, d = torch.rand(16, 8, 3), torch.rand(16, 8)
    raw = net(enc(pts))
    rgb, sig = torch.sigmoid(raw[..., :3]), torch.relu(raw[..., 3])
    dist = torch.cat([d[:, 1:] - d[:, :-1], torch.full((16, 1), 1e10)], -1).abs()
    alpha = 1 - torch.exp(-sig * dist)
    T = torch.cumprod(torch.cat([torch.ones(16, 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
    w = alpha * T
    loss = ((w[..., None] * rgb).sum(1) - torch.rand(16, 3)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    psnrs.append(-10 * torch.log10(loss.detach()))
    for g in opt.param_groups: g["lr"] = 5e-4 * 0.1 ** (i / 100)
print(len(psnrs))
