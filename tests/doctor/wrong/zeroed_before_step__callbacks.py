import torch
from torch import nn


class Callback:
    def before_batch(self, trainer):
        pass

    def after_backward(self, trainer):
        pass

    def after_batch(self, trainer):
        pass


class ZeroGrad(Callback):
    def after_backward(self, trainer):  # or here
        trainer.optimizer.zero_grad()  # here


class Printer(Callback):
    def __init__(self, every):
        self.every, self.n = every, 0

    def after_batch(self, trainer):
        self.n += 1
        if self.n % self.every == 0:
            print(f"batch {self.n} loss {trainer.last_loss:.4f}")


class Trainer:
    def __init__(self, model, callbacks):
        self.model, self.callbacks, self.last_loss = model, callbacks, 0.0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def notify(self, event):
        for cb in self.callbacks:
            getattr(cb, event)(self)

    def run(self, batches):
        for x, y in batches:
            self.notify("before_batch")
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.notify("after_backward")  # or here
            self.optimizer.step()  # or here
            self.last_loss = loss.item()
            self.notify("after_batch")


torch.manual_seed(0)
w = torch.randn(6, 2)
batches = [(x, x @ w) for x in torch.randn(20, 16, 6)]
Trainer(nn.Linear(6, 2), [ZeroGrad(), Printer(5)]).run(batches)
