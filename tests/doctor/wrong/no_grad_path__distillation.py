import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(width):
    return nn.Sequential(nn.Linear(16, width), nn.GELU(), nn.Linear(width, 5))


def kd_loss(student_logits, teacher_logits, T=2.0):
    return F.kl_div(
        F.log_softmax(student_logits / T, dim=1),
        F.softmax(teacher_logits / T, dim=1),
        reduction="batchmean",
    ) * T * T


def distill(teacher, student, loader, epochs=2):
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
    teacher.eval()
    student.train()
    for epoch in range(epochs):
        for (x,) in loader:
            with torch.no_grad():  # or here
                t_logits = teacher(x)
                s_logits = student(x)  # here
            loss = kd_loss(s_logits, t_logits)
            optimizer.zero_grad()
            loss.backward()  # or here
            optimizer.step()
        print(f"epoch {epoch} kd loss {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(160, 16)), batch_size=16, shuffle=True)
    distill(mlp(64), mlp(16), loader)
