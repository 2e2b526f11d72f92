import torch
import torch.distributed as dist
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DDP(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(12):
    with model.no_sync():  # or here
        loss = torch.nn.functional.mse_loss(model(torch.randn(8, 3)), torch.randn(8, 1)) / 3
        loss.backward()  # here
    if i % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
