import torch
import torch.nn as nn

torch.manual_seed(1111)
ntoken, bptt, clip = 25, 15, 0.25
stream = torch.cumsum(torch.randint(0, 3, (8, 181)), 1) % ntoken


class RNNModel(nn.Module):
    def __init__(self, nhid=32):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, nhid)
        self.rnn = nn.RNN(nhid, nhid, batch_first=True)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.encoder(x), hidden)
        return self.decoder(out).flatten(0, 1), hidden


def repackage_hidden(h):
    return h.detach()


def train(model, optimizer, criterion):
    model.train()
    total_loss, n = 0.0, 0
    hidden = torch.zeros(1, 8, 32)
    for i in range(0, stream.size(1) - 1, bptt):
        data, targets = stream[:, i:i + bptt], stream[:, i + 1:i + 1 + bptt].flatten()
        hidden = repackage_hidden(hidden)
        optimizer.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        optimizer.step()  # or here
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)  # here
        total_loss += loss.item()
        n += 1
    return total_loss / n


model = RNNModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(3):
    print(f"epoch {epoch} loss {train(model, optimizer, nn.CrossEntropyLoss()):.3f}")
