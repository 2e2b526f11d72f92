import torch
from torch import nn


def chunks(sequence, length):
    """Batches of truncated BPTT."""
    for start in range(0, sequence.size(1) - 1, length):
        stop = min(start + length, sequence.size(1) - 1)
        yield sequence[:, start:stop], sequence[:, start + 1:stop + 1]


torch.manual_seed(0)
vocab = 12
embed = nn.Embedding(vocab, 8)
rnn = nn.GRU(8, 16, batch_first=True)
head = nn.Linear(16, vocab)
params = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-2)
text = torch.randint(0, vocab, (4, 41))
hidden = torch.zeros(1, 4, 16)
try:
    for source, target in chunks(text, 10):
        optimizer.zero_grad()
        out, hidden = rnn(embed(source), hidden)  # here
        loss = nn.functional.cross_entropy(head(out).reshape(-1, vocab), target.reshape(-1))
        loss.backward()  # or here
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        print("loss", loss.item() > 0)
except RuntimeError as error:
    print("stopped:", type(error).__name__)
