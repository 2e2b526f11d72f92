"""Trains one network on two actors of Ray, which average their gradients.

rushlight run examples/ray_two_actors.py
"""

import socket

import ray
import torch
import torch.distributed as dist
from torch import nn


@ray.remote(num_cpus=1)
class Trainer:
    """One process of the job. Ray starts it, on whichever machine has room."""

    def __init__(self, rank, world_size):
        self.rank, self.world_size = rank, world_size

    def address(self):
        """Where the others meet this process."""
        host = ray.util.get_node_ip_address()
        with socket.create_server((host, 0)) as probe:
            return f"tcp://{host}:{probe.getsockname()[1]}"

    def train(self, address, steps):
        """Learn y = 3 x - 1 from this process's own points; (losses, weights)"""
        dist.init_process_group("gloo", address, rank=self.rank, world_size=self.world_size)
        torch.manual_seed(self.rank)
        x = torch.randn(64, 1)
        model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), 3 * x - 1)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        weights = [p.item() for p in model.parameters()]
        dist.destroy_process_group()
        return losses, weights


def main(steps=40):
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    trainers = [Trainer.remote(rank, 2) for rank in range(2)]
    address = ray.get(trainers[0].address.remote())
    results = ray.get([trainer.train.remote(address, steps) for trainer in trainers])
    for rank, (losses, weights) in enumerate(results):
        print(f"process {rank}: loss {losses[0]:.2f} to {losses[-1]:.5f}, weight and bias {weights}")
    ray.shutdown()


if __name__ == "__main__":
    main()
