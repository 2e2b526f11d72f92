import torch
from torch import nn


class CharModel(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.head(y), h


torch.manual_seed(0)
text = torch.randint(0, 12, (4, 81))
model = CharModel(12, 16)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
optimizer.zero_grad()
for epoch in range(2):
    h = None
    for i in range(0, 80, 10):
        x, y = text[:, i : i + 10], text[:, i + 1 : i + 11]
        logits, h = model(x, h)
        h = h.detach()
        loss = criterion(logits.reshape(-1, 12), y.reshape(-1))
        loss.backward()  # here
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()  # or here
    print(f"epoch {epoch} done")
