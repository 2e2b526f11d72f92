"""Mean teacher (Tarvainen & Valpola): the teacher runs in train mode, with its own noise, under no_grad."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


def network():
    return nn.Sequential(
        nn.Linear(2, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2),
    )


@torch.no_grad()
def update_teacher(student, teacher, alpha, step):
    alpha = min(1 - 1 / (step + 1), alpha)
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(alpha).add_(s, alpha=1 - alpha)


theta = torch.rand(300) * 3.14159
moons = torch.stack([theta.cos(), theta.sin()], 1)
labels = torch.randint(0, 2, (300,))
moons[labels == 1] = torch.tensor([1.0, 0.5]) - moons[labels == 1]
moons += 0.08 * torch.randn_like(moons)
labelled = torch.arange(24)

student = network()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.detach_()
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
step = 0
for epoch in range(5):
    student.train()
    teacher.train()
    rampup = min(1.0, (epoch + 1) / 4)
    for idx in torch.randperm(300).split(30):
        clean = moons[idx]
        logits = student(torch.cat([moons[labelled], clean + 0.05 * torch.randn_like(clean)]))
        with torch.no_grad():
            target = teacher(clean + 0.05 * torch.randn_like(clean)).softmax(dim=1)
        sup = F.cross_entropy(logits[:24], labels[labelled])
        cons = F.mse_loss(logits[24:].softmax(dim=1), target)
        loss = sup + 5.0 * rampup * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        update_teacher(student, teacher, 0.97, step)
    teacher.eval()
    with torch.no_grad():
        acc = (teacher(moons).argmax(1) == labels).float().mean()
    print(f"epoch {epoch} sup {sup.item():.3f} cons {cons.item():.4f} teacher acc {acc.item():.3f}")
