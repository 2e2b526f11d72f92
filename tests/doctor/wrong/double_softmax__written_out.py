import torch
import torch.nn.functional as F
torch.manual_seed(0)
W = torch.randn(4, 3, requires_grad=True)
opt = torch.optim.SGD([W], lr=0.5)
X, Y = torch.randn(30, 4), torch.randint(0, 3, (30,))
for _ in range(4):
    scores = X @ W
    prob = scores.exp() / scores.exp().sum(1, keepdim=True)  # here
    loss = F.cross_entropy(prob, Y)  # or here
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
