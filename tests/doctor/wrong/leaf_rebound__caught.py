import torch


class Regression:
    def __init__(self):
        self.weight = torch.randn(3, 1, requires_grad=True)
        self.bias = torch.zeros(1, requires_grad=True)

    def predict(self, x):
        return x @ self.weight + self.bias

    def descend(self, rate):
        with torch.no_grad():
            self.bias -= rate * self.bias.grad
            self.weight = self.weight - rate * self.weight.grad  # here
            self.bias.grad = None


model, x = Regression(), torch.randn(16, 3)
for step in range(4):
    loss = (model.predict(x) - x[:, :1]).pow(2).mean()
    loss.backward()
    try:
        model.descend(0.1)
    except TypeError as error:
        print(type(error).__name__)
        break
