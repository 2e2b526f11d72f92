"""Anomaly detection: reconstruction errors of the whole set after every epoch."""
import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 128), nn.GELU(), nn.Linear(128, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class AnomalyDetector:
    def __init__(self):
        self.net = AutoEncoder()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=2e-3)

    def fit_epoch(self, x, batch_size=64):
        self.net.train()
        for idx in torch.randperm(len(x)).split(batch_size):
            self.opt.zero_grad()
            loss = nn.functional.mse_loss(self.net(x[idx]), x[idx])
            loss.backward()
            self.opt.step()

    def score(self, x, batch_size=256):  # or here
        self.net.eval()
        scores = []
        for chunk in x.split(batch_size):  # or here
            rec = self.net(chunk)  # here
            err = (rec - chunk).pow(2).mean(dim=1)
            scores.extend(err.tolist())
        return scores


torch.manual_seed(4)
basis = torch.randn(6, 64)
normal = torch.randn(2048, 6) @ basis * 0.3
detector = AnomalyDetector()
for epoch in range(3):
    detector.fit_epoch(normal)
    s = detector.score(normal)  # or here
    print(f"epoch {epoch}: mean score {sum(s) / len(s):.4f} max {max(s):.4f}")
