"""Training that is killed and resumed ends with the digits of an undisturbed run (docs/reproducibility.md).

Each run trains in a process of its own that writes a checkpoint after every step (model, optimizer, schedule, random
streams, position in the epoch) and is killed by SIGKILL at one to three random steps, each time a random while after the
step. The next process goes on from the checkpoint. The forms take turns: `eager` (RUSHLIGHT_JIT=0), an `unmodified` loop,
a `compiled` step.

    python tests/serialization/kill_resume.py --runs 100
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

FORMS = ("eager", "unmodified", "compiled")
EPOCHS, SAMPLES, BATCH = 2, 76, 8  # ten batches, the last of four
STEPS = EPOCHS * -(-SAMPLES // BATCH)
TIMEOUT_S = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--default", action="store_true", help="without use_deterministic_algorithms: runs may differ")
    parser.add_argument("--train", metavar="CHECKPOINT", help="one process, for this command itself")
    args = parser.parse_args()
    if args.train:
        train(Path(args.train), args.forms[0], not args.default)
    else:
        sys.exit(bool(compare(args.runs, args.seed, tuple(args.forms), not args.default)))


def compare(runs: int, seed: int, forms: tuple[str, ...] = FORMS, deterministic: bool = True) -> list[str]:
    """Undisturbed runs of all forms, then the killed ones; what differs, printed as it comes."""
    rng, wrong, kills, began = random.Random(seed), [], 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        expected = {form: _finish(Path(folder, form), form, deterministic) for form in forms}
        if deterministic and len(set(expected.values())) > 1:
            wrong.append(f"undisturbed: {expected}")
        for i in range(runs):
            form, checkpoint = forms[i % len(forms)], Path(folder, str(i))
            for _ in range(rng.randint(1, 3)):
                kills += _kill(checkpoint, form, deterministic, rng.randrange(1, 9), rng.uniform(0, 0.02))
            found = _finish(checkpoint, form, deterministic)
            if found != expected[form]:
                wrong.append(f"run {i}, {form}: {found} instead of {expected[form]}")
            checkpoint.unlink()
    for line in wrong:
        print(line)
    print(f"{runs} runs, {kills} kills: {len(wrong)} differ, {time.perf_counter() - began:.0f} s", flush=True)
    return wrong


def _start(checkpoint: Path, form: str, deterministic: bool) -> subprocess.Popen:
    command = [sys.executable, "-u", __file__, "--train", str(checkpoint), "--forms", form]
    command += [] if deterministic else ["--default"]
    env = {**os.environ, "RUSHLIGHT_JIT": "0"} if form == "eager" else dict(os.environ)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)


def _kill(checkpoint: Path, form: str, deterministic: bool, step: int, delay_s: float) -> int:
    """Kill a process after so many of its steps; 0 where it had ended before."""
    with _start(checkpoint, form, deterministic) as process:
        assert process.stdout is not None
        for _ in islice((line for line in process.stdout if line.startswith("step")), step):
            pass
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(delay_s)
        process.kill()
    return int(process.returncode < 0)


def _finish(checkpoint: Path, form: str, deterministic: bool) -> str:
    """The digest that a process prints at the end."""
    with _start(checkpoint, form, deterministic) as process:
        text, _ = process.communicate(timeout=TIMEOUT_S)
    if process.returncode:
        raise RuntimeError(f"the training ended with {process.returncode}")
    return text.splitlines()[-1]


# ------------------------------------------------------------------------------------------------ the training


def train(path: Path, form: str, deterministic: bool) -> None:
    """Train from the checkpoint on, or from the beginning; the last line is a digest of everything."""
    import rushlight as torch
    from rushlight import nn
    from rushlight.utils.data import DataLoader, TensorDataset

    torch.use_deterministic_algorithms(deterministic)
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.GELU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(144, 24),
        nn.LayerNorm(24),
        nn.Linear(24, 3),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    images = torch.randn(SAMPLES, 1, 8, 8)
    labels = (images.sum((1, 2, 3)) > 0).long() + (images[:, 0, 0, 0] > 1).long()
    shuffling = torch.Generator().manual_seed(1)
    loader = DataLoader(TensorDataset(images, labels), BATCH, shuffle=True, generator=shuffling)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss.detach()

    if form == "compiled":
        step = torch.compile(step)
    first, done, losses, stream = 0, 0, [], None
    if path.exists():
        checkpoint = torch.load(path)
        net.load_state_dict(checkpoint["net"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        schedule.load_state_dict(checkpoint["schedule"])
        shuffling.set_state(checkpoint["shuffling"])
        first, done, losses, stream = (checkpoint[k] for k in ("epoch", "done", "losses", "stream"))
    for epoch in range(first, EPOCHS):
        order = shuffling.get_state()  # from which this epoch's order comes
        for i, (x, y) in enumerate(loader):
            if i < done:
                continue
            if stream is not None:
                torch.set_rng_state(stream)
                stream = None
            losses.append(step(x, y).item())
            checkpoint = {
                "net": net.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "shuffling": order,
                "stream": torch.get_rng_state(),
                "epoch": epoch,
                "done": i + 1,
                "losses": losses,
            }
            torch.save(checkpoint, path)
            print("step", len(losses))
        done = 0
    digest = hashlib.sha256(repr(losses).encode() + repr(schedule.get_last_lr()).encode())
    for t in (*net.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values())):
        digest.update(torch.as_tensor(t).numpy().tobytes())
    print(digest.hexdigest()[:16])


if __name__ == "__main__":
    main()
