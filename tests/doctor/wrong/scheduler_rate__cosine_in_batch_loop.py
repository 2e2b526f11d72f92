import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
N_EPOCHS = 6
x = torch.randn(200, 12)
y = (x[:, 0] > x[:, 1]).long()

net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=N_EPOCHS)  # or here
crit = nn.CrossEntropyLoss()

for epoch in range(N_EPOCHS):
    for i in range(0, 200, 20):
        optimizer.zero_grad()
        loss = crit(net(x[i:i+20]), y[i:i+20])
        loss.backward()
        optimizer.step()
        scheduler.step()  # here
    print("epoch %d  loss %.3f  lr %.5f" % (epoch, loss.item(), optimizer.param_groups[0]["lr"]))
