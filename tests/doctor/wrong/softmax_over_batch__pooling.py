import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 2)

    def forward(self, tokens):  # (N, L, D)
        s = self.score(torch.tanh(tokens)).squeeze(-1)
        a = torch.nn.functional.softmax(s, dim=0)  # here
        pooled = torch.bmm(a.unsqueeze(1), tokens).squeeze(1)
        return self.out(pooled)


torch.manual_seed(0)
net = AttentionPool(6)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(8):
    x = torch.randn(10, 7, 6)
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 2, (10,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
