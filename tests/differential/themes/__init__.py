"""Themes: functions over a `Program`, by name. `ALL` maps the names to them."""

from . import autograd, data, functions, longer, modules, random_numbers, rarer, tensors

ALL = {
    name.replace("_", "-"): f
    for module in (tensors, functions, autograd, modules, random_numbers, data, longer, rarer)
    for name, f in vars(module).items()
    if name in module.THEMES
}
