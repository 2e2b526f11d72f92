import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x.unsqueeze(-1))
        return self.linear(out[:, -1]).squeeze(-1)


def windows(series, length):
    xs = series.unfold(0, length + 1, 1)
    return xs[:, :length], xs[:, length:]


def make_loss(kind):
    losses = {"mae": nn.L1Loss(), "huber": nn.SmoothL1Loss(beta=0.5)}
    return losses[kind]


def main():
    torch.manual_seed(0)
    series = torch.sin(torch.arange(0, 40, 0.2)) + 0.05 * torch.randn(200)
    x, y = windows(series, 12)
    model = Forecaster()
    loss_fn = make_loss("huber")
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        total, n = 0.0, 0
        for idx in torch.randperm(len(x)).split(32):
            forecast = model(x[idx])  # or here
            loss = loss_fn(  # here
                forecast,
                y[idx],
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, n = total + loss.item() * len(idx), n + len(idx)
        print(f"epoch {epoch} huber {total / n:.4f}")


main()
