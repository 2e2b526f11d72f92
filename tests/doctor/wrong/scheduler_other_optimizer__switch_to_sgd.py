"""Adam for a warm start, then SGD with a decayed rate."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TwoPhase:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.7)

    def switch(self):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)  # here

    def run_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        self.scheduler.step()  # or here
        return total / len(self.loader)

    def fit(self, warm, fine):
        for epoch in range(warm + fine):
            if epoch == warm:
                self.switch()  # or here
            loss = self.run_epoch()
            lr = self.optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch} {type(self.optimizer).__name__} lr {lr:.4f} loss {loss:.4f}")


torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, :1] * x[:, 1:2] > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
TwoPhase(nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1)), loader).fit(2, 4)
