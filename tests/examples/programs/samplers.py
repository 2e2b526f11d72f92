"""random_split, weighted and other samplers, generators: what each batch holds, and training on it."""

import torch
import torch.nn as nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)

torch.manual_seed(7)
y = (torch.rand(200) < 0.15).long()
x = torch.randn(200, 4) + y.unsqueeze(1)
data = TensorDataset(x, y)
parts = random_split(data, [0.7, 0.2, 0.1], generator=torch.Generator().manual_seed(1))
train, held, rest = parts
print([len(part) for part in parts], train.indices[:8], held.indices[:8])

weights = torch.tensor([1.0, 5.0])[y[train.indices]]
samplers = {
    "weighted": WeightedRandomSampler(weights, num_samples=140, replacement=True),
    "with replacement": RandomSampler(train, replacement=True, num_samples=120),
    "of a subset": SubsetRandomSampler(range(0, 140, 2), generator=torch.Generator().manual_seed(2)),
    "drawn once": WeightedRandomSampler(torch.rand(140), num_samples=40, replacement=False),
}
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for name, sampler in samplers.items():
    indices = list(sampler)
    print(name, len(indices), indices[:10])
    ones = seen = 0
    for inputs, targets in DataLoader(train, batch_size=8, sampler=sampler):
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ones, seen = ones + targets.sum().item(), seen + len(targets)
    print(f"{ones} of {seen} are ones; last loss {loss.item():.4f}")
print(list(BatchSampler(RandomSampler(range(10)), batch_size=4, drop_last=True)))
loader = DataLoader(Subset(data, range(30)), batch_size=6, shuffle=True, generator=torch.Generator().manual_seed(3))
print([targets.tolist() for _, targets in loader])
print("next draw", torch.rand(1))
