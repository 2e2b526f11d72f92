import torch
import torch.nn as nn
import torch.nn.functional as F


class NameClassifier(nn.Module):
    def __init__(self, n_letters, hidden, n_categories):
        super().__init__()
        self.embed = nn.Embedding(n_letters, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, n_categories)

    def forward(self, letters):
        h = torch.zeros(letters.size(0), self.cell.hidden_size)
        for t in range(letters.size(1)):
            h = self.cell(self.embed(letters[:, t]), h)
        scores = self.out(h)
        return F.softmax(scores, dim=-1)  # here


class Learner:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def learn(self, letters, category):
        self.optimizer.zero_grad()
        output = self.model(letters)  # or here
        loss = F.cross_entropy(output, category)  # or here
        loss.backward()
        self.optimizer.step()
        return loss.item(), (output.argmax(1) == category).float().mean().item()


torch.manual_seed(0)
learner = Learner(NameClassifier(26, 24, 4))
for it in range(1, 31):
    letters = torch.randint(0, 26, (24, 6))
    category = letters[:, 0] % 4
    loss, acc = learner.learn(letters, category)
    if it % 10 == 0:
        print(f"iter {it} loss {loss:.4f} acc {acc:.2f}")
