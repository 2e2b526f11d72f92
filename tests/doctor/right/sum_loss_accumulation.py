"""Accumulation with sum-reduced losses: the gradient of the whole batch's sum, scaled once before the step."""
import torch
import torch.nn as nn

torch.manual_seed(50)
effective, micro = 32, 4
X = torch.randn(256, 10)
y = torch.tanh(X[:, :1] - 2 * X[:, 1:2])
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(5):
    epoch_loss = 0.0
    for big in torch.randperm(len(X)).split(effective):
        optimizer.zero_grad()
        for idx in big.split(micro):
            loss = criterion(model(X[idx]), y[idx])
            loss.backward()
            epoch_loss += loss.item()
        for p in model.parameters():
            p.grad.div_(len(big))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch}: mse {epoch_loss / len(X):.4f}")
