import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
model.eval()
correct = 0
for i in range(10):
    data, target = torch.randn(1, 6), torch.randint(0, 3, (1,))
    data.requires_grad = True
    out = model(data)
    loss = F.nll_loss(F.log_softmax(out, 1), target)
    model.zero_grad()
    loss.backward()
    perturbed = data + 0.1 * data.grad.data.sign()
    correct += int(model(perturbed).argmax(1) == target)
print(correct >= 0)
