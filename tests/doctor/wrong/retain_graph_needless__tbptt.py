import torch
import torch.nn as nn

torch.manual_seed(0)
T, CHUNK, BATCH = 160, 16, 8


def echo_data():
    bits = torch.randint(0, 2, (BATCH, T + 3))
    return bits[:, 3:].float().unsqueeze(-1), bits[:, :T].long()


class EchoRNN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, x, h):
        out, h = self.rnn(x, h)
        return self.fc(out), h


model = EchoRNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    x, y = echo_data()
    h = None
    total = 0.0
    for t in range(0, T, CHUNK):
        if h is not None:
            h = h.detach()
        logits, h = model(x[:, t:t + CHUNK], h)
        loss = criterion(logits.reshape(-1, 2), y[:, t:t + CHUNK].reshape(-1))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # here
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / (T // CHUNK):.4f}")
