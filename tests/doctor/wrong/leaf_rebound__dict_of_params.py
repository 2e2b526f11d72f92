import torch

torch.manual_seed(0)
params = {"w": torch.randn(3, 1, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
x = torch.randn(16, 3)
for step in range(5):
    loss = (x @ params["w"] + params["b"] - x[:, :1]).pow(2).mean()
    loss.backward()
    for k in params:
        params[k] = params[k] - 0.1 * params[k].grad  # here
