"""Models by name, and the published weights of each: `get_model`, `list_models`, `Weights`, `WeightsEnum`.

A model is a function under `@builder`, which adds torchvision's arguments `weights`, `progress` and the older
`pretrained`, and enters it into the list. What weights exist for it is in `weights.jsonl`.
"""

import functools
import importlib
import inspect
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, EnumMeta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from rushlight_vision.models._meta import categories, keypoint_names
from rushlight_vision.transforms import InterpolationMode, _presets

__all__ = ["Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight", "list_models"]

_SITE = "https://download.pytorch.org/models/"
BUILTIN_MODELS = {}
_ENUMS = {}


@dataclass
class Weights:
    """Published weights: where they are, the transforms their images need (a callable that makes them), facts."""

    url: str
    transforms: Callable
    meta: dict[str, Any]

    def __eq__(self, other):
        if not isinstance(other, Weights):
            return NotImplemented
        return (self.url, self.meta, _described(self.transforms)) == (
            other.url,
            other.meta,
            _described(other.transforms),
        )


def _described(transforms):
    return (transforms.func, transforms.args, transforms.keywords) if isinstance(transforms, partial) else transforms


if TYPE_CHECKING:

    class _Members(EnumMeta):
        def __getattr__(cls, name: str) -> "WeightsEnum":
            """The members come from a file, which type checkers do not read."""
            ...

else:
    _Members = EnumMeta


class WeightsEnum(Enum, metaclass=_Members):
    """Base of the enumerations of a model's published weights."""

    @classmethod
    def verify(cls, obj):
        """`obj` as a member: None, a member, or its name; KeyError for another name, TypeError for anything else."""
        if obj is None or isinstance(obj, cls):
            return obj
        if isinstance(obj, str):
            return cls[obj.replace(cls.__name__ + ".", "")]
        raise TypeError(
            f"Invalid Weight class provided; expected {cls.__name__} but received {obj.__class__.__name__}."
        )

    def get_state_dict(self, *args, **kwargs):
        """The weights, fetched into the hub's folder at the first use; arguments of `hub.load_state_dict_from_url`."""
        from rushlight import hub

        return hub.load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self):
        return f"{type(self).__name__}.{self._name_}"

    @property
    def url(self):
        return self.value.url

    @property
    def transforms(self):
        return self.value.transforms

    @property
    def meta(self):
        return self.value.meta


# What weights there are


@functools.cache
def _rows():
    rows = {}
    for line in (Path(__file__).parent / "weights.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows.setdefault(row["enum"], []).append(row)
    return rows


def weights_enum(name, module):
    """The enumeration `name` of the published weights, as a class of `module`."""
    rows = _rows()[name]
    members = [(row["member"], _weights(row)) for row in rows]
    members += [("DEFAULT", value) for (_, value), row in zip(members, rows, strict=True) if row["default"]]
    enum = _ENUMS[name] = cast("type[WeightsEnum]", WeightsEnum(name, members, module=module))
    return enum


def _weights(row):
    meta = dict(row["meta"])
    if meta.get("categories") is not None:
        meta["categories"] = categories(meta["categories"])
    if "keypoint_names" in meta:
        meta["keypoint_names"] = keypoint_names(meta["keypoint_names"])
    meta["min_size"] = tuple(meta["min_size"])
    kind, options = row["transforms"]
    if "interpolation" in options:
        options["interpolation"] = InterpolationMode(options["interpolation"])
    for key in ("mean", "std", "crop_size", "resize_size"):
        if isinstance(options.get(key), list):
            options[key] = tuple(options[key])
    preset = getattr(_presets, kind)
    return Weights(_SITE + row["file"], partial(preset, **options), meta)


# Functions that make models


def register_model(name=None):
    """Enter the decorated function into the list of models, under `name` or its own name."""

    def enter(function):
        key = function.__name__ if name is None else name
        if key in BUILTIN_MODELS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        BUILTIN_MODELS[key] = function
        return function

    return enter


def builder(enum, pretrained: str | None = "IMAGENET1K_V1", prepare=None, finish=None):
    """Make a function of a model's options into one that takes `weights` and `progress` too, and register it.

    pretrained: the member that `pretrained=True` means, or None. prepare(weights, options) changes the options and
    finish(model, options given) the model where weights are asked for.
    """

    def decorate(build):
        @functools.wraps(build)
        def model(*args, progress=True, **options: Any):
            if args:
                options.update(_positional(args, ("weights", "progress")))
                progress = options.pop("progress", progress)
            weights = enum.verify(choose_weights(build.__name__, options, enum, pretrained))
            given = dict(options)
            if weights is not None:
                if prepare is not None:
                    prepare(weights, options)
                if weights.meta.get("categories") is not None:  # None: weights of the features alone, or no classes
                    set_option(options, "num_classes", len(weights.meta["categories"]))
            made = build(**options)
            if weights is not None:
                made.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
                if finish is not None:
                    finish(made, given)
            return made

        vars(model)["__signature__"] = _signature(enum)
        return register_model()(model)

    return decorate


def _signature(enum):
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            inspect.Parameter("weights", kind, default=None, annotation=enum | None),
            inspect.Parameter("progress", kind, default=True, annotation=bool),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any),
        ]
    )


def _positional(args, names) -> dict[str, Any]:
    """The arguments by name, with torchvision's warning that they should have been given so."""
    if len(args) > len(names):
        raise TypeError(f"at most {len(names)} positional arguments are taken ({', '.join(names)}), got {len(args)}")
    found = dict(zip(names, args))
    warnings.warn(
        f"Using {' and '.join(repr(name) for name in found)} as positional parameter(s) is deprecated since 0.13 and "
        "may be removed in the future. Please use keyword parameter(s) instead.",
        stacklevel=3,
    )
    return found


def positional_too(function):
    """Lets arguments that are keyword-only be given by position, with torchvision's warning."""
    names = [name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY]

    @functools.wraps(function)
    def call(*args, **options):
        return function(**(_positional(args, names) if args else {}), **options)

    return call


def choose_weights(model, options, enum, legacy, name="weights", older="pretrained"):
    """Take `weights` out of the options, or what the older `pretrained=` means; warns about the latter.

    legacy: the member that True means; a function of the older argument may choose it.
    """
    given = options.pop(name, None)
    if older in options:
        warnings.warn(
            f"The parameter '{older}' is deprecated since 0.13 and may be removed in the future, please use '{name}' "
            "instead.",
            stacklevel=4,
        )
        given = options.pop(older)
        legacy = legacy(given) if callable(legacy) else legacy
    elif given is None or isinstance(given, WeightsEnum) or isinstance(given, str) and given != "legacy":
        return given
    chosen = None
    if given:
        if legacy is None:
            raise ValueError(f"No weights available for model {model}")
        chosen = enum[legacy]
    also = f" You can also use `{name}={enum.__name__}.DEFAULT` to get the most up-to-date weights." if chosen else ""
    warnings.warn(
        f"Arguments other than a weight enum or `None` for '{name}' are deprecated since 0.13 and may be removed in the "
        f"future. The current behavior is equivalent to passing `{name}={chosen}`.{also}",
        stacklevel=4,
    )
    return chosen


def set_option(options, name, value):
    """Set an option that the weights determine; ValueError if it was given with another value."""
    if options.setdefault(name, value) != value:
        raise ValueError(f"The parameter '{name}' expected value {value} but got {options[name]} instead.")


# By name


def list_models(module=None, include=None, exclude=None):
    """Sorted names of the models, of one module (such as `models.segmentation`) if given.

    include, exclude: a pattern with wildcards, or several.
    """
    import fnmatch

    names = {
        name
        for name, function in BUILTIN_MODELS.items()
        if module is None or function.__module__.rsplit(".", 1)[0] == module.__name__
    }
    chosen = names
    if include:
        patterns = [include] if isinstance(include, str) else include
        chosen = {name for pattern in patterns for name in fnmatch.filter(names, pattern)}
    if exclude:
        patterns = [exclude] if isinstance(exclude, str) else exclude
        chosen = chosen - {name for pattern in patterns for name in fnmatch.filter(names, pattern)}
    return sorted(chosen)


def get_model_builder(name):
    """The function that makes the model `name`; ValueError if there is none."""
    try:
        return BUILTIN_MODELS[name.lower()]
    except KeyError:
        raise ValueError(f"Unknown model {name.lower()}") from None


def get_model(name, **config):
    """The model `name`, with its options; see `list_models`."""
    return get_model_builder(name)(**config)


def get_model_weights(name):
    """The enumeration of published weights of a model, given by name or as its function."""
    function = get_model_builder(name) if isinstance(name, str) else name
    parameter = inspect.signature(function).parameters.get("weights")
    if parameter is None:
        raise ValueError("The method is missing the 'weights' argument.")
    for kind in (parameter.annotation, *get_args(parameter.annotation)):
        if isinstance(kind, type) and issubclass(kind, WeightsEnum):
            return kind
    raise ValueError(
        "The WeightsEnum class for the specific method couldn't be retrieved. Make sure the typing info is correct."
    )


def get_weight(name):
    """The published weights by their full name, such as 'ResNet50_Weights.IMAGENET1K_V2'."""
    enum, dot, member = name.partition(".")
    if not dot or "." in member:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    importlib.import_module(__name__.rpartition(".")[0])
    if enum not in _ENUMS:
        raise ValueError(f"The weight enum '{enum}' for the specific method couldn't be retrieved.")
    return _ENUMS[enum][member]
