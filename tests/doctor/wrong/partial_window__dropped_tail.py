import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __init__(self, n):
        self.phase = torch.rand(n) * 6.28

    def __len__(self):
        return len(self.phase)

    def __getitem__(self, i):
        t = torch.linspace(0, 3.14, 13)
        wave = torch.sin(t + self.phase[i])
        return wave[:12].unsqueeze(1), wave[12:]


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][:, -1])


class Trainer:
    def __init__(self, model, loader, every):
        self.model, self.loader, self.every = model, loader, every
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def epoch(self):
        self.optimizer.zero_grad()  # or here
        seen = []
        for step, (x, y) in enumerate(self.loader, start=1):  # or here
            loss = nn.functional.mse_loss(self.model(x), y)
            (loss / self.every).backward()  # or here
            seen.append(loss.item())
            if step % self.every == 0:  # here
                self.optimizer.step()  # or here
                self.optimizer.zero_grad()  # or here
        return sum(seen) / len(seen)


torch.manual_seed(0)
loader = DataLoader(Waves(184), batch_size=8, shuffle=True)  # 23 batches
trainer = Trainer(Forecaster(), loader, every=5)
for epoch in range(4):
    print(f"epoch {epoch} mse {trainer.epoch():.4f}")
