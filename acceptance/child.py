"""What runs in the program's process: seeds, patches the environment, records every step, stops after the last one.

`python child.py JOB.json`, where the job gives: backend ("rushlight" or "torch"), command (list), seed, steps, backwards,
patches, record (the file that gets one JSON object a line), keep (how many steps' gradients go into files next to it), shows
(expressions printed after the program).

The program's own printing goes where it goes; `out` in a record is how many bytes it had printed by then.
"""

# pyright: reportMissingImports=false

import json
import os
import random
import sys
import time


def run_job(job):
    if job["backend"] == "rushlight":
        from rushlight.alias import install

        install()
    import torch

    from acceptance import patches

    record = Record(job)
    patches.apply(job["patches"], torch)
    record.watch(torch)
    seed_everything(job["seed"], torch)
    record.write(start=round(time.time() - job["started"], 3))
    status = 1
    try:
        status = run_command(job["backend"], job["command"])
        if not status:
            show(job["shows"])
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
    record.end("finished", status)


def show(expressions):
    """Print what these are worth among the program's names."""
    names = vars(sys.modules["__main__"])
    for expression in expressions:
        print(f"{expression} = {eval(expression, names)}")


def seed_everything(seed, torch):
    if seed is None:
        return
    import numpy

    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


class Record:
    """Counts optimizer steps and backward calls, and writes what each step had to do with."""

    def __init__(self, job):
        self.steps_wanted, self.backwards_wanted = job["steps"], job["backwards"]
        self.keep, self.path = job["keep"], job["record"]
        self.file = open(self.path, "a")  # noqa: SIM115
        self.owner = os.getpid()
        self.steps = self.backwards = self.depth = 0
        self.inside_backward = False
        self.losses = []
        self.overhead_s = self.overhead_cpu_s = 0.0

    def watch(self, torch):
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        register_optimizer_step_pre_hook(self.before_step)
        register_optimizer_step_post_hook(self.after_step)
        torch.Tensor.backward = self.watching(torch.Tensor.backward)
        torch.autograd.backward = self.watching(torch.autograd.backward)

    def watching(self, backward):
        """`backward` that notes the values it is called on; the outermost call counts."""

        def watched(tensors, *args, **kwargs):
            if self.inside_backward or os.getpid() != self.owner:
                return backward(tensors, *args, **kwargs)
            self.inside_backward = True
            try:
                each = tensors if isinstance(tensors, (list, tuple)) else [tensors]
                self.losses.append(float(sum(float(tensor.detach().sum()) for tensor in each)))
                result = backward(tensors, *args, **kwargs)
            finally:
                self.inside_backward = False
            self.backwards += 1
            if self.backwards_wanted:
                self.write_step()
                if self.backwards >= self.backwards_wanted:
                    self.end("limit", 0)
            return result

        return watched

    def before_step(self, optimizer, args, kwargs):
        self.depth += 1

    def after_step(self, optimizer, args, kwargs):
        self.depth -= 1
        if self.depth > 0 or os.getpid() != self.owner:
            return
        self.steps += 1
        if not self.backwards_wanted:
            self.write_step(optimizer)
        if self.steps_wanted and self.steps >= self.steps_wanted:
            self.end("limit", 0)

    def write_step(self, optimizer=None):
        begun, begun_cpu = time.perf_counter(), time.process_time()
        values = {}
        if optimizer is not None:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            values["params"] = sum(_magnitude(p) for p in parameters)
            gradients = [p.grad for p in parameters if p.grad is not None]
            values["grads"] = sum(_magnitude(gradient) for gradient in gradients)
            if self.steps <= self.keep:
                _save(f"{self.path}.{self.steps}.npz", gradients)
        self.write(step=self.steps or self.backwards, losses=self.losses, out=self.printed(), **values)
        self.losses = []
        self.overhead_s += time.perf_counter() - begun
        self.overhead_cpu_s += time.process_time() - begun_cpu

    def printed(self):
        sys.stdout.flush()
        try:
            return os.lseek(1, 0, os.SEEK_CUR)
        except OSError:
            return -1

    def write(self, **values):
        self.file.write(json.dumps(values) + "\n")
        self.file.flush()

    def end(self, reason, status):
        """Write the last record and leave the process at once, whatever the program's threads and workers do."""
        import resource

        if os.getpid() != self.owner:
            return
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        self.write(
            end=reason,
            cpu_s=round(sum(each.ru_utime + each.ru_stime for each in used) - self.overhead_cpu_s, 3),
            status=status,
            steps=self.steps,
            backwards=self.backwards,
            overhead_s=round(self.overhead_s, 4),
            out=self.printed(),
            peak_mb=used[0].ru_maxrss // 1024,
        )
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _magnitude(tensor):
    """The sum of absolute values in float64."""
    import numpy

    return float(numpy.abs(_array(tensor)).sum())


def _array(tensor):
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.to_dense()
    return tensor.cpu().double().numpy()


def _save(path, tensors):
    import numpy

    numpy.savez(path, *map(_array, tensors))


# the program


def run_command(backend, command):
    """Run `script arguments`, `-m module arguments` or `-c code` as `__main__`; the exit status."""
    if command[0] == "-c":
        sys.argv, sys.path[0] = ["-c"], os.getcwd()
        return guarded(lambda: exec(compile(command[1], "<string>", "exec"), fresh_main(None).__dict__))
    if backend == "rushlight":
        from rushlight.cli import main

        return main(["run", *command])
    as_module = command[0] == "-m"
    program, arguments = (command[1], command[2:]) if as_module else (command[0], command[1:])
    sys.argv = [program, *arguments]
    sys.path[0] = os.getcwd() if as_module else os.path.dirname(os.path.realpath(program))
    if as_module:
        import runpy

        return guarded(lambda: runpy.run_module(program, run_name="__main__", alter_sys=True))
    return guarded(lambda: execute(os.path.abspath(program)))


def guarded(program):
    """Call it; 0, or 1 after printing the traceback as Python does."""
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def execute(path):
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec", dont_inherit=True), fresh_main(path).__dict__)


def fresh_main(path):
    import types
    from importlib.machinery import SourceFileLoader

    module = types.ModuleType("__main__")
    module.__builtins__ = sys.modules["builtins"]
    if path is not None:
        module.__file__ = path
        module.__loader__ = SourceFileLoader("__main__", path)
    sys.modules["__main__"] = module
    return module


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the program's folder takes its place
    with open(sys.argv[1]) as job_file:
        run_job(json.load(job_file))
