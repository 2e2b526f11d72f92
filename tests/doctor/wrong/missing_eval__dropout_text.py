import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)


class BagOfWords(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(dim, classes)

    def forward(self, text):
        return self.fc(self.drop(self.emb(text)))


text = torch.randint(0, 50, (400, 9))
label = (text < 25).sum(1).gt(4).long()
train_set, valid_set = random_split(TensorDataset(text, label), [320, 80])
train_dl = DataLoader(train_set, batch_size=32, shuffle=True)
valid_dl = DataLoader(valid_set, batch_size=16)
model = BagOfWords(50, 24, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def train_epoch():
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()


def evaluate():  # or here
    correct, count, total = 0, 0, 0.0
    with torch.no_grad():  # or here
        for xb, yb in valid_dl:  # or here
            logits = model(xb)  # here
            total += criterion(logits, yb).item() * len(yb)
            correct += (logits.argmax(1) == yb).sum().item()
            count += len(yb)
    return total / count, correct / count


for epoch in range(4):
    train_epoch()
    val_loss, val_acc = evaluate()  # or here
    print(f"epoch {epoch} val_loss {val_loss:.4f} val_acc {val_acc:.3f}")
