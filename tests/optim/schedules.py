"""The schedules of the golden data: name -> how to make it, given the lr_scheduler module and an optimizer.

The optimizer has two groups, with learning rates 0.5 and 0.05, and momentum 0.9.
"""

SCHEDULES = {
    "lambda": lambda L, o: L.LambdaLR(o, lambda e: 0.95**e),
    "lambda two": lambda L, o: L.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (1 + e)]),
    "multiplicative": lambda L, o: L.MultiplicativeLR(o, lambda e: 0.9),
    "step": lambda L, o: L.StepLR(o, 3, 0.5),
    "multi step": lambda L, o: L.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "constant": lambda L, o: L.ConstantLR(o, 0.5, 4),
    "linear": lambda L, o: L.LinearLR(o, 0.25, 0.75, 8),
    "exponential": lambda L, o: L.ExponentialLR(o, 0.9),
    "polynomial": lambda L, o: L.PolynomialLR(o, 10, 2.0),
    "cosine": lambda L, o: L.CosineAnnealingLR(o, 7, 0.01),
    "restarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 4, 2, 0.01),
    "cyclic": lambda L, o: L.CyclicLR(o, [0.1, 0.01], [0.5, 0.05], 4, 3, "triangular"),
    "cyclic 2": lambda L, o: L.CyclicLR(o, 0.1, 0.5, 4, mode="triangular2", cycle_momentum=False),
    "cyclic exp": lambda L, o: L.CyclicLR(o, 0.1, 0.5, 4, mode="exp_range", gamma=0.97),
    "cyclic own": lambda L, o: L.CyclicLR(o, 0.1, 0.5, 4, scale_fn=lambda x: 1 / x, scale_mode="cycle"),
    "one cycle": lambda L, o: L.OneCycleLR(o, [1.0, 0.1], total_steps=30),
    "one cycle linear": lambda L, o: L.OneCycleLR(
        o, 1.0, epochs=3, steps_per_epoch=10, anneal_strategy="linear", three_phase=True
    ),
    "plateau": lambda L, o: L.ReduceLROnPlateau(o, patience=2, factor=0.5, cooldown=1),
    "plateau abs": lambda L, o: L.ReduceLROnPlateau(
        o, mode="max", patience=1, threshold_mode="abs", min_lr=[0.01, 0.001]
    ),
    "sequential": lambda L, o: L.SequentialLR(o, [L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)], [5]),
    "warm up": lambda L, o: L.SequentialLR(o, [L.LinearLR(o, 0.1, 1.0, 5), L.CosineAnnealingLR(o, 20)], [5]),
    "nested": lambda L, o: L.SequentialLR(
        o,
        [L.SequentialLR(o, [L.ConstantLR(o, 0.1, 2), L.StepLR(o, 2)], [3]), L.ExponentialLR(o, 0.8)],
        [8],
    ),
    "chained": lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)], optimizer=o),
}
METRICS = [1, 0.9, 0.8, 0.8, 0.8, 0.8, 0.81, 0.8, 0.8] + [0.7] * 6 + [0.71, 0.72] + [0.5] * 6 + [0.49] * 7
STEPS = 29
# closed forms, by the deprecated epoch argument
CLOSED = ("step", "multi step", "constant", "linear", "exponential", "polynomial", "cosine", "lambda", "restarts")


def is_plateau(name):
    return name.startswith("plateau")


def trace(M, L, make, name, resume_at=None, epochs=None):
    """[(lr, momentum) of each group] before each step, and the scheduler. M is torch or rushlight, L its schedulers."""

    def optimizer():
        p, q = (M.ones(2, requires_grad=True) for _ in range(2))
        return M.optim.SGD([{"params": [p], "lr": 0.5}, {"params": [q], "lr": 0.05}], lr=0.5, momentum=0.9)

    o = optimizer()
    s = make(L, o)
    rows = []
    for k in range(STEPS):
        rows.append([[g["lr"], g["momentum"]] for g in o.param_groups])
        o.step()
        if k == resume_at:
            saved_s, saved_o = s.state_dict(), o.state_dict()
            o = optimizer()
            s = make(L, o)
            o.load_state_dict(saved_o)
            s.load_state_dict(saved_s)
            o.step()
        if is_plateau(name):
            s.step(METRICS[k])
        elif epochs is not None:
            s.step(epochs[k])
        else:
            s.step()
    return rows, s
