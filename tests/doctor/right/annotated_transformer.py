import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class LabelSmoothing(nn.Module):
    def __init__(self, size, pad, smoothing):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.pad, self.conf, self.smoothing, self.size = pad, 1 - smoothing, smoothing, size

    def forward(self, x, target):
        true = x.data.clone()
        true.fill_(self.smoothing / (self.size - 2))
        true.scatter_(1, target.data.unsqueeze(1), self.conf)
        true[:, self.pad] = 0
        mask = torch.nonzero(target.data == self.pad)
        if mask.dim() > 0 and len(mask):
            true.index_fill_(0, mask.squeeze(1), 0.0)
        return self.criterion(x, true.clone().detach())


class NoamOpt:
    def __init__(self, size, factor, warmup, optimizer):
        self.optimizer, self._step, self.warmup, self.factor, self.size = optimizer, 0, warmup, factor, size

    def step(self):
        self._step += 1
        for p in self.optimizer.param_groups:
            p["lr"] = self.factor * self.size**-0.5 * min(self._step**-0.5, self._step * self.warmup**-1.5)
        self.optimizer.step()
        self.optimizer.zero_grad()


V = 12
net = nn.Sequential(nn.Embedding(V, 16), nn.Dropout(0.1), nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), nn.Linear(16, V), nn.LogSoftmax(-1))
crit = LabelSmoothing(V, 0, 0.1)
opt = NoamOpt(16, 1, 20, torch.optim.Adam(net.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9))


def run(data, train):
    tokens = total = 0
    for src in data:
        n = (src != 0).sum().item()
        if train:
            out = net(src)
            loss = crit(out.view(-1, V), src.view(-1)) / n
            loss.backward()
            opt.step()
            total += loss.data * n
        else:
            with torch.no_grad():
                total += crit(net(src).view(-1, V), src.view(-1))
        tokens += n
    return total / tokens


for epoch in range(3):
    net.train()
    tr = run([torch.randint(0, V, (6, 5)) for _ in range(5)], True)
    net.eval()
    print(epoch, tr.item(), run([torch.randint(1, V, (6, 5))], False).item())
