import torch
from torch import nn


class Experiment:
    """Cross-validation: the model is built again for every fold."""

    def __init__(self, folds=3, lr=0.01):
        self.folds = folds
        self.model = self.build_model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)  # or here

    def build_model(self):
        return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))

    def run_fold(self, fold, x, y):
        if fold > 0:
            self.model = self.build_model()  # here
        val = slice(fold * 40, (fold + 1) * 40)
        keep = torch.ones(len(x), dtype=torch.bool)
        keep[val] = False
        xt, yt = x[keep], y[keep]
        self.model.train()
        for epoch in range(4):
            for xb, yb in zip(xt.split(20), yt.split(20)):
                self.optimizer.zero_grad()
                loss = nn.functional.mse_loss(self.model(xb), yb)
                loss.backward()
                self.optimizer.step()
        self.model.eval()
        with torch.no_grad():
            return nn.functional.mse_loss(self.model(x[val]), y[val]).item()


torch.manual_seed(0)
x = torch.randn(120, 4)
y = x.prod(dim=1, keepdim=True) + x[:, :1]
experiment = Experiment()
for fold in range(experiment.folds):
    print(f"fold {fold}: val mse {experiment.run_fold(fold, x, y):.4f}")
