import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class CharRNN(nn.Module):
    def __init__(self, n=10, h=16):
        super().__init__()
        self.h, self.emb, self.cell, self.out = h, nn.Embedding(n, h), nn.GRUCell(h, h), nn.Linear(h, n)

    def step(self, tok, h):
        h = self.cell(self.emb(tok), h)
        return self.out(h), h

    @torch.no_grad()
    def generate(self, n, temp=0.8):
        self.eval()
        tok, h, out = torch.zeros(1, dtype=torch.long), torch.zeros(1, self.h), []
        for _ in range(n):
            logits, h = self.step(tok, h)
            tok = torch.multinomial(F.softmax(logits / temp, dim=-1), 1)[:, 0]
            out.append(tok.item())
        self.train()
        return out


net = CharRNN()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(10):
    seq = (torch.arange(9)[None] + torch.randint(0, 10, (8, 1))) % 10
    h, loss, tok = torch.zeros(8, net.h), 0, seq[:, 0]
    for t in range(8):
        logits, h = net.step(tok, h)
        loss += F.cross_entropy(logits, seq[:, t + 1])
        tok = seq[:, t + 1] if random.random() < 0.7 else logits.argmax(1)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1)
    opt.step()
    if it % 5 == 4:
        print(it, round(loss.item() / 8, 3), net.generate(5))
