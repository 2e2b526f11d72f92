"""Modules whose variables are settings: unknown names are errors, and `patch` sets some for a while."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

__all__ = ["ConfigModule", "ConfigPatch", "OpenConfigModule", "install_config_module"]


class ConfigModule(ModuleType):
    """A module of settings; a name that it does not have cannot be read or set.

    Raises AttributeError with torch's message, NotImplementedError for a name in `absent`: a setting of torch's that
    would have to do something. Properties of a subclass are settings, too.
    """

    absent: frozenset[str] = frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("__") or name in vars(self) or isinstance(getattr(type(self), name, None), property)):
            if name in self.absent:
                raise NotImplementedError(f"{self._shown()}.{name} is not implemented")
            raise AttributeError(f"{self._shown()}.{name} does not exist")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self._shown()}.{name} does not exist", name=name, obj=self)

    def _shown(self) -> str:
        return vars(self)["__name__"].replace("rushlight", "torch", 1)

    def to_dict(self) -> dict[str, Any]:
        """All settings by name; those of a namespace below as `namespace.name`."""
        names = [n for n, v in vars(self).items() if not n.startswith("_") and not isinstance(v, ModuleType | type)]
        names += [n for n, v in vars(type(self)).items() if isinstance(v, property)]
        flat = {}
        for name in sorted(names):
            value = getattr(self, name)
            if isinstance(value, SimpleNamespace):
                flat.update({f"{name}.{inner}": v for inner, v in sorted(vars(value).items())})
            elif not callable(value):
                flat[name] = value
        return flat

    get_config_copy = shallow_copy_dict = to_dict

    def patch(self, arg1: Any = None, arg2: Any = None, **kwargs: Any) -> ConfigPatch:
        """Settings within a `with` block or a decorated function: patch("name", value), patch({...}) or patch(name=value)."""
        changes = dict(arg1) if isinstance(arg1, dict) else {arg1: arg2} if arg1 is not None else kwargs
        return ConfigPatch(self, changes)


class OpenConfigModule(ConfigModule):
    """Settings of something that is not here, so that none changes anything: any name may be set and read back."""

    def __setattr__(self, name: str, value: Any) -> None:
        ModuleType.__setattr__(self, name, value)


class ConfigPatch:
    """What `ConfigModule.patch` returns."""

    def __init__(self, module: ConfigModule, changes: dict[str, Any]):
        self.module, self.changes, self.before = module, changes, {}

    def __enter__(self) -> None:
        unset = (_UNSET,) if isinstance(self.module, OpenConfigModule) else ()
        self.before = {name: getattr(*self._place(name), *unset) for name in self.changes}
        self._set(self.changes.items())

    def __exit__(self, *error: object) -> None:
        self._set(self.before.items())

    def _place(self, name: str) -> tuple[Any, str]:
        space, _, last = name.rpartition(".")
        return (getattr(self.module, space), last) if space else (self.module, name)

    def _set(self, pairs: Iterable[tuple[str, Any]]) -> None:
        for name, value in pairs:
            place = self._place(name)
            delattr(*place) if value is _UNSET else setattr(*place, value)

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with ConfigPatch(self.module, self.changes):
                return function(*args, **kwargs)

        return patched


_UNSET = object()


def install_config_module(module: ModuleType, kind: type[ConfigModule] = ConfigModule) -> None:
    """Make a module one of settings: those that it has now, and the properties of `kind`."""
    module.__class__ = kind
