import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(44, 5), torch.randn(44, 1)), batch_size=4)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
ACC = 4
for epoch in range(4):
    for i, (x, y) in enumerate(loader):  # or here
        loss = nn.functional.mse_loss(model(x), y) / ACC
        loss.backward()  # or here
        if (i + 1) % ACC == 0:  # or here
            opt.step()  # here
            opt.zero_grad()
