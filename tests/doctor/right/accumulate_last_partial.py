import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(52, 5), torch.randn(52, 1)), batch_size=4)
model = nn.Linear(5, 1)
opt = torch.optim.AdamW(model.parameters(), lr=0.01)
K = 4
for epoch in range(3):
    opt.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), y) / K
        loss.backward()
        if (i + 1) % K == 0 or i + 1 == len(loader):
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
