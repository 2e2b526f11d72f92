import torch
import torch.nn as nn


class SeqModel(nn.Module):
    def __init__(self, vocab=16, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 48, dropout=0.1, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        return self.head(self.block(self.emb(ids), src_mask=mask))


class LMTrainer:
    def __init__(self, model, eval_interval):
        self.model = model
        self.eval_interval = eval_interval
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def batch(self, n=8, length=12):
        start = torch.randint(0, 16, (n, 1))
        ids = (start + torch.arange(length + 1)) % 16
        return ids[:, :-1], ids[:, 1:]

    def loss(self, x, y):
        return nn.functional.cross_entropy(self.model(x).flatten(0, 1), y.flatten())

    @torch.no_grad()
    def estimate(self, iters=5):
        self.model.eval()  # here
        return sum(self.loss(*self.batch()).item() for _ in range(iters)) / iters  # or here

    def train(self, max_iters):
        self.model.train()
        for it in range(1, max_iters + 1):  # or here
            loss = self.loss(*self.batch())  # or here
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            if it % self.eval_interval == 0:
                print(f"iter {it} train {loss.item():.3f} val {self.estimate():.3f}")  # or here


torch.manual_seed(0)
LMTrainer(SeqModel(), eval_interval=8).train(32)
