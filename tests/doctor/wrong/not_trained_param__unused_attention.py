import torch
import torch.nn as nn


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, 1)

    def forward(self, h):
        w = torch.softmax(self.query(h), dim=1)
        return (w * h).sum(dim=1)


class SentimentRNN(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.pool = AttentionPool(hidden)  # or here
        self.fc = nn.Linear(hidden, 1)

    def forward(self, tokens):  # or here
        h, _ = self.rnn(self.embedding(tokens))
        pooled = h.mean(dim=1)  # here
        return self.fc(pooled).squeeze(1)  # or here


def synthetic(n, length, vocab):
    tokens = torch.randint(0, vocab, (n, length))
    return tokens, (tokens.float().mean(1) > (vocab - 1) / 2).float()


torch.manual_seed(0)
tokens, labels = synthetic(256, 10, 20)
model = SentimentRNN(20, 12, 24)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(3):
    model.train()
    epoch_loss = 0.0
    for idx in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = criterion(model(tokens[idx]), labels[idx])
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / 8
    print(f"epoch {epoch} loss {epoch_loss:.4f}")
