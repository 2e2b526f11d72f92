"""Hinton distillation: KLDivLoss(log_softmax(student / T), softmax(teacher / T)) * T * T plus the hard loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(93)


def train_teacher(teacher, loader, epochs=3):
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    teacher.train()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()
    teacher.eval()
    return teacher


def train_kd(teacher, student, loader, epochs, T, soft_weight, lr=5e-3):
    ce = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(student.parameters(), lr=lr)
    teacher.eval()
    student.train()
    for epoch in range(epochs):
        running = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            with torch.no_grad():
                teacher_logits = teacher(x)
            student_logits = student(x)
            soft_targets = F.softmax(teacher_logits / T, dim=-1)
            soft_prob = F.log_softmax(student_logits / T, dim=-1)
            soft_loss = F.kl_div(soft_prob, soft_targets, reduction="batchmean") * T ** 2
            loss = soft_weight * soft_loss + (1 - soft_weight) * ce(student_logits, y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"Epoch {epoch + 1}/{epochs}, Loss: {running / len(loader):.4f}")


X = torch.randn(220, 12)
Y = torch.stack([X[:, 0] * X[:, 1], X[:, 2], X[:, 3] - 0.5], 1).argmax(1)
loader = DataLoader(TensorDataset(X[:180], Y[:180]), batch_size=18, shuffle=True)
teacher = train_teacher(nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 3)), loader)
student = nn.Sequential(nn.Linear(12, 10), nn.ReLU(), nn.Linear(10, 3))
train_kd(teacher, student, loader, epochs=4, T=2.0, soft_weight=0.4)
student.eval()
with torch.no_grad():
    print("student acc", (student(X[180:]).argmax(1) == Y[180:]).float().mean().item())
