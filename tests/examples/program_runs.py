"""The runs whose numbers are recorded under torch: a name, the program and its arguments."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROGRAMS = Path(__file__).parent / "programs"
GOLDEN = ROOT / "tests" / "golden" / "examples"
CIFAR = (EXAMPLES / "cifar10.py", "--data", "data", "--lr", "0.003", "--print-every", "50")
PROGRAMS_BY_RUN = {
    "zero_grad": (EXAMPLES / "zero_grad.py",),
    "zero_grad_seed_1": (EXAMPLES / "zero_grad.py", "--seed", "1", "--steps", "20"),
    "detach_and_numpy": (EXAMPLES / "detach_and_numpy.py", "--out", "made"),
    "variable_and_manual_updates": (EXAMPLES / "variable_and_manual_updates.py",),
    "how_gradients_accumulate": (EXAMPLES / "how_gradients_accumulate.py",),
    "gradient_accumulation": (EXAMPLES / "gradient_accumulation.py",),
    "gradient_accumulation_last_batch": (EXAMPLES / "gradient_accumulation.py", "--accum-iter", "7", "--seed", "2"),
    "adam": (PROGRAMS / "regularised.py", "adam"),
    "adamw": (PROGRAMS / "regularised.py", "adamw"),
    "rmsprop": (PROGRAMS / "regularised.py", "rmsprop"),
    "adagrad": (PROGRAMS / "regularised.py", "adagrad"),
    "sgd": (PROGRAMS / "regularised.py", "sgd"),
    "schedulers": (PROGRAMS / "schedulers.py",),
    "embedding": (PROGRAMS / "embedding.py",),
    "samplers": (PROGRAMS / "samplers.py",),
}

# the losses of programs whose backward() succeeds under Rushlight alone: it still serves retain_variables
SERVED_LOSSES = {"how_gradients_accumulate": [9.0, 9.0]}
