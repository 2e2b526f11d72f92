import torch
from torch import nn


def make_optimizer(model, lr):
    decay = [p for n, p in model.named_parameters() if n.endswith("weight")]
    rest = [p for n, p in model.named_parameters() if not n.endswith("weight")]
    return torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=lr)


def train_epoch(model, batches, epoch):
    optimizer = make_optimizer(model, 1e-3 * 0.9**epoch)  # here
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]
print([train_epoch(model, batches, e) > 0 for e in range(5)])
