import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.GRU(4, 8, batch_first=True)
decoder = nn.Linear(8, 4)
optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)  # here
for step in range(8):
    x = torch.randn(5, 6, 4)
    y, _ = encoder(x)  # or here
    loss = nn.functional.mse_loss(decoder(y), x)
    optimizer.zero_grad()
    encoder.zero_grad()
    loss.backward()
    optimizer.step()
