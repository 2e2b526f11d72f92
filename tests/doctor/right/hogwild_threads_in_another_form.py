import threading
import torch
from torch import nn

torch.manual_seed(0)
shared = nn.Linear(4, 1)


def worker(seed):
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(shared.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(seed)
    for _ in range(6):
        model.load_state_dict(shared.state_dict())
        x = torch.randn(8, 4, generator=g)
        model.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        for a, b in zip(shared.parameters(), model.parameters()):
            a.grad = b.grad.clone()
        opt.step()


threads = [threading.Thread(target=worker, args=(i,)) for i in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
