import torch
from torch import nn

torch.manual_seed(0)
lstm, fc = nn.LSTM(1, 8, batch_first=True), nn.Linear(8, 1)
opt = torch.optim.Adam([*lstm.parameters(), *fc.parameters()])
series = torch.sin(torch.arange(0, 40, 0.2))
windows = series.unfold(0, 11, 1)
for epoch in range(3):
    for i in range(0, 160, 40):
        x, y = windows[i : i + 40, :10, None], windows[i : i + 40, 10]
        h, _ = lstm(x)
        loss = nn.functional.smooth_l1_loss(fc(h[:, -1]), y)  # here
        opt.zero_grad()
        loss.backward()
        opt.step()
