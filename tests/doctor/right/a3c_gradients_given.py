import threading
import torch
from torch import nn
torch.manual_seed(0)
shared = nn.Linear(4, 2)
opt = torch.optim.SGD(shared.parameters(), 0.01)
lock = threading.Lock()
def work(seed):
    local = nn.Linear(4, 2)
    g = torch.Generator().manual_seed(seed)
    for _ in range(6):
        local.load_state_dict(shared.state_dict())
        loss = local(torch.randn(8, 4, generator=g)).pow(2).mean()
        local.zero_grad()
        loss.backward()
        with lock:
            opt.zero_grad()
            for l, s in zip(local.parameters(), shared.parameters()):
                s._grad = l.grad
            opt.step()
ts = [threading.Thread(target=work, args=(i,)) for i in range(2)]
[t.start() for t in ts]; [t.join() for t in ts]
print("ok")
