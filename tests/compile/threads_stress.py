"""Threads that train at the same time, from cold caches: none may hang, and each ends with the bits of a serial run.

A start is a new process in which all threads set out together, each with a model, a generator and an optimizer of its own
(8 kinds, by rank), and one function that is compiled for all of them. The serial run is a process in which the same
threads run one after another. `--passes` are each thread's in each start. The first 50 are steps of its model, which takes
every kind through its cold start (plain, recorded, compared) and some 40 replays; later every 50th is. The others are
small tapes with their backward, of three lengths and of operators that differ from thread to thread: 10,000 passes look
everything up that often, in a tenth of the time.

    python tests/compile/threads_stress.py --starts 200 --threads 8 --passes 10000

`--deterministic` does the same under `use_deterministic_algorithms(True)`, where the function that they share is compared
by its bits as well. `--forks 20` forks so many children of a process whose threads train from cold caches, one
after another; each trains one of the kinds, for `--passes` passes, and has to end with the bits of the serial run.

    python tests/compile/threads_stress.py --forks 20 --passes 20 --starts 10
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

TIMEOUT_S = 600
CHILD_TIMEOUT_S = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--passes", type=int, default=10_000)
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--forks", type=int, default=0, help="children of each start, instead of threads, are compared")
    parser.add_argument("--seed", type=int, default=0, help="when to fork")
    parser.add_argument("--child", choices=["serial", "threads", "forks"], help="one start, for this command itself")
    args = parser.parse_args()
    if args.child == "forks":
        fork_children(args)
    elif args.child:
        child(args)
    else:
        sys.exit(bool(compare(args.starts, args.threads, args.passes, args.deterministic, args.forks, args.seed)))


def compare(
    starts: int, threads: int, passes: int, deterministic: bool = False, forks: int = 0, seed: int = 0
) -> list[str]:
    """Run the serial process and all starts; what went wrong, printed as it comes."""
    options = ["--threads", str(threads), "--passes", str(passes)] + ["--deterministic"] * deterministic
    kind = ["--child", "forks", "--forks", str(forks)] if forks else ["--child", "threads"]
    began = time.perf_counter()
    expected, wrong = _start([*options, "--child", "serial"]), []
    if not expected.startswith("0 "):
        wrong.append(f"serial: {expected}")
    for i in range(starts):
        found = _start([*options, *kind, "--seed", str(seed + i)])
        if found != expected if not forks else set(found.splitlines()) - set(expected.splitlines()):
            wrong.append(f"start {i}: {found}\nserial: {expected}")
            print(wrong[-1], flush=True)
    seconds = time.perf_counter() - began
    each = f"{forks} forks" if forks else f"{threads} threads"
    print(f"{starts} starts of {each}, {passes} passes each: {len(wrong)} wrong, {seconds:.0f} s")
    return wrong


def _start(options: list[str]) -> str:
    """What a start prints: its threads' digests. A hang ends with the stacks of all threads."""
    command = [sys.executable, "-W", "error", __file__, *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "does not end"
    return done.stdout if not done.returncode else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


# --------------------------------------------------------------------------------------------------- one start


def child(args: argparse.Namespace) -> None:
    faulthandler.dump_traceback_later(TIMEOUT_S, exit=True)
    import rushlight as torch

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(args.deterministic)
    shared = torch.compile(_shared)
    digests: dict[int, str] = {}
    errors: list[BaseException] = []
    together = threading.Barrier(args.threads if args.child == "threads" else 1)

    def work(rank: int) -> None:
        try:
            together.wait()
            digests[rank] = _train(rank, args.passes, shared, args.deterministic)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(rank,)) for rank in range(args.threads)]
    sys.setswitchinterval(1e-5)
    for worker in workers:
        worker.start()
        if args.child == "serial":
            worker.join()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    print("".join(f"{rank} {digests[rank]}\n" for rank in sorted(digests)), end="")


def fork_children(args: argparse.Namespace) -> None:
    """Fork while threads train new kinds over and over; each child prints its digest.

    A child that hangs says where. (Its faulthandler would wait for the parent's, so the parent has none.)
    """
    import rushlight as torch

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(args.deterministic)
    chance, shared = random.Random(args.seed), torch.compile(_shared)

    def work(rank: int) -> None:
        while True:
            _train(rank, 12, shared, args.deterministic)
            rank += args.threads  # of the same kind, and another width

    for rank in range(args.threads):
        threading.Thread(target=work, args=(rank,), daemon=True).start()
    codes = []
    for i in range(args.forks):
        time.sleep(chance.random() * 0.3)
        pid = os.fork()
        if not pid:
            _in_child(i % args.threads, args)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    sys.stdout.flush()
    os._exit(any(codes))  # the threads never end


def _in_child(rank: int, args: argparse.Namespace) -> None:
    import rushlight as torch

    faulthandler.dump_traceback_later(CHILD_TIMEOUT_S, exit=True)
    code = 1
    try:
        print(rank, _train(rank, args.passes, torch.compile(_shared), args.deterministic), flush=True)
        code = 0
    except BaseException as error:
        print(rank, repr(error), flush=True)
    finally:
        os._exit(code)


def _train(rank: int, passes: int, shared: Callable, bits: bool) -> str:
    """A digest of everything that the training of a rank leaves behind."""
    import rushlight as torch

    generator = torch.Generator().manual_seed(rank)
    step, parameters, optimizer = KINDS[rank % len(KINDS)](generator, rank)
    digest, small = hashlib.sha256(), _small_tapes(rank)
    for i in range(passes):
        if i >= STEPS and i % STEPS:
            digest.update(small(i).numpy().tobytes())
            continue
        digest.update(step().numpy().tobytes())
        x = torch.randn(8, 8, generator=generator)
        found, expected = shared(x), _shared(x)
        if bits or i < 1:
            digest.update(expected.numpy().tobytes())
        if not (torch.equal if bits else torch.allclose)(found, expected):
            raise AssertionError("the function that all threads share gives other numbers than eager calls")
    for p in parameters:
        digest.update(p.detach().numpy().tobytes() + p.grad.numpy().tobytes())
        for value in optimizer.state.get(p, {}).values():
            digest.update(torch.as_tensor(value).numpy().tobytes())
    return digest.hexdigest()


def _small_tapes(rank: int) -> Callable:
    """A function of a pass's number: one, two or three operators, which are others in other threads, and their backward."""
    import rushlight as torch

    w = torch.linspace(-1, 1, 3 + rank).requires_grad_()
    names = ["tanh", "sigmoid", "sin", "cos", "exp", "erf", "atan", "sinh"]

    def run(i: int) -> Any:
        y = w
        for k in range(1 + i % 3):
            y = getattr(y, names[(rank + k) % len(names)])()
        y.sum().backward()
        grad, w.grad = w.grad, None
        return grad

    return run


def _shared(x: Any) -> Any:
    return (x @ x).tanh().cumsum(0).softmax(1)


def _setup(net: Any, generator: Any, optimizer: Any) -> tuple[list, Any]:
    """The parameters, drawn from the thread's own stream, and their optimizer."""
    import rushlight as torch

    parameters = list(net.parameters())
    with torch.no_grad():
        for p in parameters:
            p.normal_(0, 0.3, generator=generator)
    return parameters, optimizer(parameters)


def _supervised(
    net: Any, generator: Any, optimizer: Any, shape: tuple, mask: bool = False, compiled: bool = False
) -> tuple:
    """Steps on random batches whose label is the sign of their first number."""
    import rushlight as torch
    from rushlight.nn import functional as F

    parameters, optimizer = _setup(net, generator, optimizer)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = torch.compile(step) if compiled else step

    def draw() -> Any:
        x = torch.randn(*shape, generator=generator)
        if mask:
            x = x * torch.empty(shape).bernoulli_(0.8, generator=generator)
        return run(x, (x.reshape(shape[0], -1)[:, 0] > 0).long())

    return draw, parameters, optimizer


def _mlp(generator: Any, rank: int, compiled: bool = False, mask: bool = False) -> tuple:
    import rushlight as torch
    from rushlight import nn

    width = 16 + rank  # kernels of its own, besides those that are the same in all threads
    net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 16), nn.GELU(), nn.Linear(16, 2))
    sgd = lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)  # noqa: E731
    return _supervised(net, generator, sgd, (16, 8), mask, compiled)


def _convolution(generator: Any, rank: int) -> tuple:
    import rushlight as torch
    from rushlight import nn

    layers = [
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 6, 3, stride=2),
        nn.Flatten(),
        nn.Linear(24, 2),
    ]
    return _supervised(nn.Sequential(*layers), generator, lambda p: torch.optim.Adam(p, lr=0.01), (8, 1, 8, 8))


def _recurrent(generator: Any, rank: int) -> tuple:
    import rushlight as torch
    from rushlight import nn

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.out = nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 2)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(x)[0][:, -1])

    return _supervised(Last(), generator, lambda p: torch.optim.AdamW(p, lr=0.01), (4, 5, 6))


def _attention(generator: Any, rank: int) -> tuple:
    import rushlight as torch
    from rushlight import nn

    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    net = nn.Sequential(layer, nn.LayerNorm(8), nn.Flatten(), nn.Linear(32, 2))
    return _supervised(net, generator, lambda p: torch.optim.RMSprop(p, lr=0.01), (4, 4, 8))


def _large(generator: Any, rank: int) -> tuple:
    """Large enough for programs of single operators: log_softmax, clamp."""
    import rushlight as torch
    from rushlight import nn

    class Clamped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(64, 600)

        def forward(self, x: Any) -> Any:
            return self.inner(x).clamp(-3, 3)

    return _supervised(Clamped(), generator, lambda p: torch.optim.Adam(p, lr=0.01, foreach=True), (64, 64))


STEPS = 50
KINDS: list[Callable] = [
    _mlp,
    _convolution,
    _recurrent,
    lambda generator, rank: _mlp(generator, rank, compiled=True),
    lambda generator, rank: _mlp(generator, rank, mask=True),
    _attention,
    _large,
    lambda generator, rank: _mlp(generator, rank, compiled=True, mask=True),
]


if __name__ == "__main__":
    main()
