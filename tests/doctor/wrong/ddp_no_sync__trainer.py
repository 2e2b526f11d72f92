import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, accumulate):
        self.model, self.accumulate = DDP(model), accumulate
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def micro_step(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        (loss / self.accumulate).backward()  # here

    def fit(self, batches):
        for i, (x, y) in enumerate(batches, 1):
            self.micro_step(x, y)
            if i % self.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)


dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
Trainer(nn.Linear(4, 3), 4).fit([(torch.randn(8, 4), torch.randint(0, 3, (8,))) for _ in range(16)])
dist.destroy_process_group()
