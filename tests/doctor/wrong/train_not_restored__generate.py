import torch
from torch import nn
torch.manual_seed(0)
class Gen(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.d, self.o = nn.Embedding(9, 8), nn.Dropout(0.3), nn.Linear(8, 9)
    def forward(self, x): return self.o(self.d(self.e(x)))
    @torch.no_grad()
    def generate(self, n):
        self.eval()  # here
        x = torch.zeros(1, 1, dtype=torch.long)
        for _ in range(n):
            x = torch.cat([x, self(x)[:, -1:].argmax(-1)], 1)
        return x
g = Gen()
opt = torch.optim.Adam(g.parameters())
for step in range(12):
    x = torch.randint(0, 9, (4, 6))
    loss = nn.functional.cross_entropy(g(x[:, :-1]).reshape(-1, 9), x[:, 1:].reshape(-1))  # or here
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 4 == 0:
        print(g.generate(3).shape)
