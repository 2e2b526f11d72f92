import torch
from torch import nn

torch.manual_seed(0)
embed = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 4))
triplet = nn.TripletMarginLoss()
optimizer = torch.optim.SGD(
    embed.parameters(),
    lr=0.05,
    momentum=0.9,
)
optimizer.zero_grad()
for step in range(12):
    anchor, positive, negative = torch.randn(3, 8, 6)
    loss = triplet(
        embed(anchor),
        embed(positive),
        embed(negative),
    )
    loss.backward()  # here
    optimizer.step()  # or here
