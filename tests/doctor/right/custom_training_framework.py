import torch
from torch import nn


class Callback:
    def on_batch_end(self, trainer):
        pass


class Logger(Callback):
    def __init__(self):
        self.rows = []

    def on_batch_end(self, trainer):
        self.rows.append(trainer.loss.detach().clone())


class Trainer:
    def __init__(self, model, opt, callbacks):
        self.model, self.opt, self.callbacks, self.loss = model, opt, callbacks, None

    def fit(self, batches, epochs):
        for _ in range(epochs):
            self.model.train()
            for x, y in batches:
                self.loss = nn.functional.mse_loss(self.model(x), y)
                self.opt.zero_grad()
                self.loss.backward()
                self.opt.step()
                for c in self.callbacks:
                    c.on_batch_end(self)


torch.manual_seed(0)
net = nn.Linear(3, 1)
data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(6)]
Trainer(net, torch.optim.SGD(net.parameters(), 0.1), [Logger()]).fit(data, 3)
