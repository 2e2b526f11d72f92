import torch
from torch import nn

torch.manual_seed(0)
gate, lin, out = nn.Linear(5, 1), nn.Linear(5, 8), nn.Linear(8, 3)
opt = torch.optim.Adam([*gate.parameters(), *lin.parameters(), *out.parameters()])
for _ in range(10):
    opt.zero_grad()
    loss = 0
    for g in range(4):
        nodes = torch.randn(int(torch.randint(3, 8, ())), 5)
        a = torch.softmax(gate(nodes), dim=0)
        loss = loss + nn.functional.cross_entropy(out((a * torch.relu(lin(nodes))).sum(0, keepdim=True)), torch.tensor([g % 3]))
    (loss / 4).backward()
    opt.step()
