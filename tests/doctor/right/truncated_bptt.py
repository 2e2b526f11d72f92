import torch
from torch import nn

torch.manual_seed(0)
emb, lstm, out = nn.Embedding(10, 6), nn.LSTM(6, 12, 2, dropout=0.2), nn.Linear(12, 10)
params = [*emb.parameters(), *lstm.parameters(), *out.parameters()]
opt = torch.optim.SGD(params, lr=0.5)
data = torch.randint(0, 10, (61, 4))


def repackage(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage(v) for v in h)


hidden = (torch.zeros(2, 4, 12), torch.zeros(2, 4, 12))
for i in range(0, 60, 10):
    x, y = data[i : i + 10], data[i + 1 : i + 11].reshape(-1)
    hidden = repackage(hidden)
    for p in params:
        p.grad = None
    o, hidden = lstm(emb(x), hidden)
    loss = nn.functional.cross_entropy(out(o).view(-1, 10), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 0.25)
    opt.step()
