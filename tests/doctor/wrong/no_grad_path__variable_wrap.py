import torch
from torch import nn
from torch.autograd import Variable

torch.manual_seed(0)
encoder, decoder = nn.Linear(10, 3), nn.Linear(3, 10)
opt = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-2)
for step in range(8):
    x = torch.randn(16, 10)
    code = encoder(x)
    restored = decoder(code)
    loss = nn.functional.mse_loss(restored, x)
    loss = Variable(loss.data, requires_grad=True)  # here
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
