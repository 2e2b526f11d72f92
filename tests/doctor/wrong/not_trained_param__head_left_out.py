import torch
from torch import nn
from torch.nn import functional as F


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(2, 8, 3, padding=1)
        self.conv2 = nn.Conv1d(8, 8, 3, padding=1)

    def forward(self, x):
        return F.gelu(self.conv2(F.gelu(self.conv1(x)))).mean(dim=2)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.neck = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.neck(self.backbone(x))))


def configure_optimizer(model):
    groups = [  # here
        {"params": model.backbone.parameters(), "lr": 1e-3},
        {"params": model.neck.parameters(), "lr": 5e-3},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, weight_decay=1e-2)  # or here


def main():
    torch.manual_seed(0)
    model = Detector()
    optimizer = configure_optimizer(model)  # or here
    model.train()
    for step in range(20):
        label = torch.randint(0, 3, (16,))
        freq = (label + 1).view(-1, 1, 1).float()
        t = torch.linspace(0, 6.28, 24)
        signal = torch.sin(freq * t) + 0.2 * torch.randn(16, 2, 24)
        loss = F.cross_entropy(model(signal), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step + 1} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
