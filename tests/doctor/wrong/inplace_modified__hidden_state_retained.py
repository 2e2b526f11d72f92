import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.RNN(3, 5, batch_first=True)
head = nn.Linear(5, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)
hidden = None
for _ in range(6):
    output, hidden = net(torch.randn(2, 7, 3), hidden)  # here
    loss = head(output[:, -1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
