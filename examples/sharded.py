"""Trains a small transformer whose parameters are spread over processes, and saves it.

torchrun --standalone --nproc-per-node 2 examples/sharded.py
"""

import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    """Predicts the next of 16 letters."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(16, 32)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True) for _ in range(2)
        )
        self.last = nn.Linear(32, 16)

    def forward(self, x):
        x = self.table(x)
        for layer in self.layers:
            x = layer(x)
        return self.last(x)


def main(folder):
    dist.init_process_group("gloo")
    torch.manual_seed(0)  # the same model in every process
    model = Model()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(dist.get_rank())  # other data
    for step in range(30):
        x = torch.randint(0, 16, (8, 12))
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), (x.flatten() + 1) % 16)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 9 and dist.get_rank() == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    state, its = get_state_dict(model, optimizer)
    checkpoint.save({"model": state, "optimizer": its}, checkpoint_id=folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir() + "/sharded-example")
