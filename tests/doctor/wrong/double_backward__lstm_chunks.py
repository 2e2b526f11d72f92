import torch
import torch.nn as nn

torch.manual_seed(0)

corpus = torch.randint(0, 30, (8, 121))
BPTT = 20


class LanguageModel(nn.Module):
    def __init__(self, vocab=30, emb=16, hid=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hid, batch_first=True)
        self.decoder = nn.Linear(hid, vocab)

    def forward(self, x, state):
        out, state = self.lstm(self.embed(x), state)
        return self.decoder(out), state

    def init_state(self, n):
        return torch.zeros(1, n, 32), torch.zeros(1, n, 32)


model = LanguageModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    state = model.init_state(corpus.size(0))
    for i in range(0, corpus.size(1) - 1, BPTT):  # or here
        x, y = corpus[:, i:i + BPTT], corpus[:, i + 1:i + 1 + BPTT]
        logits, state = model(x, state)  # here
        loss = criterion(logits.reshape(-1, 30), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()  # or here
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        print(f"epoch {epoch} chunk {i // BPTT} loss {loss.item():.3f}")
