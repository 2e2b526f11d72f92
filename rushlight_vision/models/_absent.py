"""torchvision's models that Rushlight does not have: their names exist and raise when called."""


def absent(package, name):
    """A function of that name that raises NotImplementedError when called."""

    def model(*args, **kwargs):
        raise NotImplementedError(f"torchvision.models.{package}.{name} is not implemented in Rushlight")

    model.__name__ = model.__qualname__ = name
    model.__doc__ = "Not implemented: raises when called."
    return model
