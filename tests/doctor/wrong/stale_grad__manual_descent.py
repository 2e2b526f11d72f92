"""Logistic regression from scratch, without torch.optim."""
import torch
import torch.nn.functional as F

torch.manual_seed(3)

N, D, LR = 200, 5, 0.1
true_w = torch.randn(D)
X = torch.randn(N, D)
Y = (X @ true_w + 0.1 * torch.randn(N) > 0).float()

w = torch.zeros(D, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
params = [w, b]


def forward(x):
    return x @ w + b


for epoch in range(4):
    perm = torch.randperm(N)
    running = 0.0
    for i in range(0, N, 40):  # or here
        idx = perm[i:i + 40]
        loss = F.binary_cross_entropy_with_logits(forward(X[idx]), Y[idx])
        loss.backward()  # or here
        with torch.no_grad():  # or here
            for p in params:  # or here
                p -= LR * p.grad  # here
        running += loss.item()
    with torch.no_grad():
        acc = ((forward(X) > 0).float() == Y).float().mean()
    print(f"epoch {epoch}: loss {running / 5:.4f} acc {acc.item():.3f}")
