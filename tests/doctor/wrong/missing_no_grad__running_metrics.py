import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
train_dl = DataLoader(TensorDataset(torch.randn(64, 64), torch.randn(64, 1)), batch_size=16)
val_dl = DataLoader(TensorDataset(torch.randn(640, 64), torch.randn(640, 1)), batch_size=128)
net = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 1))
opt = torch.optim.AdamW(net.parameters())
for epoch in range(2):
    net.train()
    for x, y in train_dl:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    net.eval()
    error = 0.0
    for x, y in val_dl:
        pred = net(x)  # here
        error += float((pred - y).abs().mean())
