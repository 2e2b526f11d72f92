"""Checks of arguments and of optional libraries that several data sets share."""

import importlib


def iterable_to_str(iterable):
    """The items quoted and joined by commas."""
    return "'" + "', '".join(str(item) for item in iterable) + "'"


def verify_str_arg(value, arg=None, valid_values=None, custom_msg=None):
    """`value` itself; ValueError unless it is a str and, where these are given, one of `valid_values`."""
    if not isinstance(value, str):
        where = "" if arg is None else f" for argument {arg}"
        raise ValueError(f"Expected type str{where}, but got type {type(value)}.")
    if valid_values is not None and value not in valid_values:
        raise ValueError(
            custom_msg
            or f"Unknown value '{value}' for argument {arg}. Valid values are {{{iterable_to_str(valid_values)}}}."
        )
    return value


def needed(module, package, what):
    """The optional module; ModuleNotFoundError that names the package where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f"{what} needs the package {package!r}, which is not installed: pip install {package}"
        raise ModuleNotFoundError(message, name=error.name) from None


def found_or_raise(found, message="Dataset not found or corrupted. You can use download=True to download it"):
    """RuntimeError with torchvision's message unless the data set was found."""
    if not found:
        raise RuntimeError(message)


NOT_FOUND = "Dataset not found. You can use download=True to download it"
