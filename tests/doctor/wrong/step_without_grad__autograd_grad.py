import torch

torch.manual_seed(0)


def rosenbrock(p):
    x, y = p[0], p[1]
    return (1 - x) ** 2 + 5 * (y - x ** 2) ** 2


class Problem:
    def __init__(self, start):
        self.p = torch.tensor(start, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.p], lr=0.02, momentum=0.5)
        self.evaluations = 0

    def gradient(self):
        value = rosenbrock(self.p)
        (grad,) = torch.autograd.grad(value, self.p)  # here
        self.evaluations += 1
        return value.item(), grad

    def minimise(self, steps):
        trace = []
        for _ in range(steps):
            self.optimizer.zero_grad()
            value, grad = self.gradient()  # or here
            self.optimizer.step()  # or here
            trace.append((value, grad.norm().item()))
        return trace


starts = [[-1.0, 1.0], [0.5, -0.5], [0.0, 0.0]]
for start in starts:
    problem = Problem(start)
    trace = problem.minimise(15)
    print(f"start {start} -> {problem.p.tolist()} value {trace[-1][0]:.3f} |g| {trace[-1][1]:.3f}")
