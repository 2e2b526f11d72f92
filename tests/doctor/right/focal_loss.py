"""Focal loss on imbalanced labels: BCE with logits, no reduction; sigmoid only inside the weight; logits bias prior."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(95)


def sigmoid_focal_loss(logits, targets, alpha=0.25, gamma=2.0):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    alpha_t = alpha * targets + (1 - alpha) * (1 - targets)
    return (alpha_t * (1 - p_t) ** gamma * ce).sum() / targets.sum().clamp(min=1.0)


X = torch.randn(400, 8)
y = ((X[:, 0] > 1.0) & (X[:, 1] > 0)).float()
weights = torch.where(y[:300] == 1, 3.0, 1.0)
train = DataLoader(TensorDataset(X[:300], y[:300]), batch_size=30, sampler=WeightedRandomSampler(weights, 300))
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 1))
nn.init.constant_(model[-1].bias, -math.log((1 - 0.1) / 0.1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for xb, yb in train:
        optimizer.zero_grad()
        loss = sigmoid_focal_loss(model(xb).squeeze(-1), yb)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        prob = torch.sigmoid(model(X[300:]).squeeze(-1))
        brier = F.mse_loss(prob, y[300:])
        recall = ((prob > 0.4) & (y[300:] == 1)).sum() / y[300:].sum().clamp(min=1)
    print(f"epoch {epoch} focal {loss.item():.4f} brier {brier.item():.4f} recall {recall.item():.3f}")
