"""Truncated BPTT: the LSTM state crosses windows, detached."""
import math
import torch
import torch.nn as nn

torch.manual_seed(1111)
bptt, batch_size, ntokens = 8, 6, 14


class RNNModel(nn.Module):
    def __init__(self, ninp=16, nhid=32, nlayers=2, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntokens, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntokens)
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(tokens)), hidden)
        return self.decoder(self.drop(output)).view(-1, ntokens), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return tuple(weight.new_zeros(self.nlayers, bsz, self.nhid) for _ in range(2))


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


corpus = (torch.arange(900) % 9 + (torch.arange(900) // 9) % 4) % ntokens
train_data, val_data = batchify(corpus[:720], batch_size), batchify(corpus[720:], 3)
model, criterion = RNNModel(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
for epoch in range(4):
    model.train()
    total_loss, hidden = 0.0, model.init_hidden(batch_size)
    for i in range(0, train_data.size(0) - 1, bptt):
        data, targets = get_batch(train_data, i)
        optimizer.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total_loss += loss.item() * len(data)
    model.eval()
    val, hidden = 0.0, model.init_hidden(3)
    with torch.no_grad():
        for i in range(0, val_data.size(0) - 1, bptt):
            data, targets = get_batch(val_data, i)
            output, hidden = model(data, hidden)
            val += len(data) * criterion(output, targets).item()
    scheduler.step()
    print(f"epoch {epoch} train {total_loss / (len(train_data) - 1):.3f} "
          f"valid ppl {math.exp(val / (len(val_data) - 1)):.2f}")
