import torch
from torch import nn
torch.manual_seed(0)
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(15, 8)
        self.g = nn.GRU(8, 16, batch_first=True)
        self.d = nn.Dropout(0.5)
        self.o = nn.Linear(16, 15)
    def forward(self, x, h=None):
        y, h = self.g(self.d(self.e(x)), h)
        return self.o(self.d(y)), h
lm = LM()
opt = torch.optim.Adam(lm.parameters())
def sample(n):
    x, h, out = torch.zeros(1, 1, dtype=torch.long), None, []
    with torch.no_grad():
        for _ in range(n):
            logits, h = lm(x, h)  # here
            x = logits[:, -1].argmax(-1, keepdim=True)
            out.append(x.item())
    return out
for e in range(6):
    for _ in range(4):
        ids = torch.randint(0, 15, (4, 9))
        logits, _h = lm(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, 15), ids[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(sample(5)))
