"""Changes of the environment, in the program's process before its first line, for both runs alike.

`ENVIRONMENT`: what a program's surroundings had when it was written, or a check that synthetic data cannot pass.
`VARIATIONS`: the same program with other rounding, or in double precision, to judge a difference by.
"""

# pyright: reportMissingImports=false

import os
import sys


def apply(names, torch):
    for name in names:
        if patch := {**ENVIRONMENT, **VARIATIONS}[name]:
            patch(torch)


def cifar_integrity(torch):
    """torchvision's CIFAR compares checksums of the original files, which ours do not have."""
    import torchvision

    torchvision.datasets.CIFAR10._check_integrity = lambda self: True
    modules = [module for name, module in list(sys.modules.items()) if ".datasets" in name]
    for module in modules:
        if hasattr(module, "check_integrity"):
            module.check_integrity = lambda path, md5=None: os.path.isfile(path)


def random_weights(torch):
    """Pretrained weights cannot be downloaded: a torchvision model that is given some keeps the ones it was made with."""
    from torchvision.models import WeightsEnum

    load = torch.nn.Module.load_state_dict
    WeightsEnum.get_state_dict = lambda self, *args, **kwargs: None

    def load_state_dict(self, state_dict, *args, **kwargs):
        return None if state_dict is None else load(self, state_dict, *args, **kwargs)

    torch.nn.Module.load_state_dict = load_state_dict


def cifar_train_data(torch):
    """CIFAR10 called its pictures `train_data` or `test_data` until torchvision 0.3, `data` since."""
    from torchvision.datasets import CIFAR10

    CIFAR10.train_data = CIFAR10.test_data = property(lambda self: self.data)


def empty_is_zero(torch):
    """For programs that print `empty` tensors: what was in memory before is chance."""
    for name in ("empty", "empty_like"):
        setattr(torch, name, zeroed(getattr(torch, name)))


def zeroed(maker):
    return lambda *args, **kwargs: maker(*args, **kwargs).zero_()


def iterators_have_next(torch):
    """A DataLoader's iterator had a method `next`, as in Python 2, until torch 1.13."""
    from torch.utils.data import DataLoader

    iterate = DataLoader.__iter__

    def iterate_with_next(self):
        iterator = iterate(self)
        if not hasattr(type(iterator), "next"):
            type(iterator).next = type(iterator).__next__
        return iterator

    DataLoader.__iter__ = iterate_with_next


def cuda_is_the_cpu(torch):
    """For programs that call .cuda() without asking: tensors and modules stay where they are."""
    torch.Tensor.cuda = lambda self, *args, **kwargs: self
    torch.nn.Module.cuda = lambda self, *args, **kwargs: self


def load_whole_objects(torch):
    """Programs from before torch 2.6 expect torch.load to unpickle anything."""
    load = torch.load
    torch.load = lambda *args, **kwargs: load(*args, **{"weights_only": False, **kwargs})


def old_numpy(torch):
    """Names and habits that NumPy dropped in 1.24 and 2.0, for programs from before."""
    import numpy

    for name, value in (("float", float), ("int", int), ("bool", bool), ("object", object), ("Inf", numpy.inf)):
        if name not in vars(numpy):
            setattr(numpy, name, value)
    array = numpy.array
    numpy.array = lambda *args, copy=True, **kwargs: array(*args, copy=copy or None, **kwargs)


def old_schedulers(torch):
    """Schedulers took `verbose` until torch 2.7; it only made them print."""
    for kind in vars(torch.optim.lr_scheduler).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.lr_scheduler.LRScheduler):
            kind.__init__ = without_verbose(kind.__init__)


def without_verbose(initialise):
    return lambda self, *args, verbose=None, **kwargs: initialise(self, *args, **kwargs)


def seed_environments(torch):
    """gymnasium's environments draw from the operating system's entropy where a program does not seed them."""
    import itertools

    from gymnasium.utils import seeding

    counter, seeded = itertools.count(), seeding.np_random
    seeding.np_random = lambda seed=None: seeded(next(counter) if seed is None else seed)


def without_onednn(torch):
    torch.backends.mkldnn.set_flags(False)


def nudge(torch):
    """Move each parameter by one unit in its last place, up or down, when its module is first called."""
    import numpy

    draw, seen = numpy.random.default_rng(0), set()

    def before_forward(module, args):
        for parameter in module.parameters():
            if id(parameter) not in seen and parameter.dtype in (torch.float32, torch.float64):
                seen.add(id(parameter))
                up = torch.from_numpy(draw.random(tuple(parameter.shape)) < 0.5)
                ends = torch.tensor([-numpy.inf, numpy.inf], dtype=parameter.dtype)
                parameter.data.copy_(torch.nextafter(parameter.data, ends[up.long()]))

    torch.nn.modules.module.register_module_forward_pre_hook(before_forward)


def float64(torch):
    """The whole program in double precision: a request for float32, by name or by default, gives float64.

    Random numbers are drawn in double precision as well, so that the run is another one than the program's own, equally
    under both.
    """
    import io

    single, double = torch.float32, torch.float64
    file = io.BytesIO()  # torch finds the names of its storages in files by dtype, once: before float32 is another
    torch.save(torch.zeros(1), file)
    file.seek(0)
    torch.load(file)
    torch.set_default_dtype(double)
    torch.float32 = torch.float = double
    torch.FloatTensor = torch.DoubleTensor
    torch.Tensor.float = torch.Tensor.double
    torch.nn.Module.float = torch.nn.Module.double
    for name in ("from_numpy", "tensor", "as_tensor", "load"):
        setattr(torch, name, widened(getattr(torch, name), torch.Tensor, single))


def exact(torch):
    """torch's run as it would be without rounding: the program's parameters and random numbers, computed in float64.

    A module's parameters are widened when it is first called; what meets a float64 tensor in a call is widened for it.
    """
    from torch.overrides import TorchFunctionMode
    from torch.utils._pytree import tree_any, tree_map

    single, double = torch.float32, torch.float64

    def before_forward(module, args):
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.dtype == single:
                tensor.data = tensor.data.double()
        return tree_map(widen, args)  # recurrent layers compare types themselves

    def is_double(x):
        return isinstance(x, torch.Tensor) and x.dtype == double

    def widen(x):
        return x.double() if isinstance(x, torch.Tensor) and x.dtype == single else x

    class Widening(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs, name = kwargs or {}, function.__name__
            if name == "__set__" or not tree_any(is_double, (args, kwargs)):
                return function(*args, **kwargs)
            if name in ("rand_like", "randn_like"):
                return function(args[0].float(), *args[1:], **kwargs).double()
            if name in ("float", "to", "type") and (name == "float" or single in args or single in kwargs.values()):
                return args[0]
            if name.endswith("_") and not is_double(args[0]):
                return function(*args, **kwargs)
            if name in ("normal_", "uniform_"):
                return args[0].copy_(function(args[0].float(), *args[1:], **kwargs))
            return function(*tree_map(widen, args), **tree_map(widen, kwargs))

    torch.nn.modules.module.register_module_forward_pre_hook(before_forward)
    Widening().__enter__()  # for the rest of the process


def widened(maker, tensor, single):
    """`maker`, its float32 tensors in double precision."""

    def make(*args, **kwargs):
        made = maker(*args, **kwargs)
        if not isinstance(made, tensor) or made.dtype != single:
            return made
        return made.detach().double().requires_grad_(made.requires_grad)

    return make


ENVIRONMENT = {
    "cifar_integrity": cifar_integrity,
    "cifar_train_data": cifar_train_data,
    "cuda_is_the_cpu": cuda_is_the_cpu,
    "empty_is_zero": empty_is_zero,
    "iterators_have_next": iterators_have_next,
    "load_whole_objects": load_whole_objects,
    "old_numpy": old_numpy,
    "old_schedulers": old_schedulers,
    "random_weights": random_weights,
    "seed_environments": seed_environments,
    "terminal": None,  # the runner gives the process a terminal
}
VARIATIONS = {"without_onednn": without_onednn, "nudge": nudge, "float64": float64, "exact": exact}
