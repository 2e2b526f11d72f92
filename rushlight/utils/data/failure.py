"""A worker's exception on its way to the loader: type, traceback text and the sample that it was about."""

from rushlight.core.tracebacks import shortened_text


class KeyErrorMessage(str):
    """A message that KeyError, which shows its argument's repr, prints with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception as a picklable record; `reraise()` raises it again, with the program's part of the original traceback in its message."""

    def __init__(self, error: BaseException, where: str = "in background", subject: str | None = None) -> None:
        self.exc_type = _picklable_type(type(error))
        self.name = type(error).__name__
        self.exc_msg = shortened_text(error)
        self.where = where
        self.subject = subject

    def message(self) -> str:
        text = f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}"
        return f"{text}\nThis happened while {self.subject}." if self.subject else text

    def reraise(self):
        message = self.message()
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:  # a constructor that wants other arguments
            raise RuntimeError(message) from None
        try:
            raise error
        finally:  # else it would be in a cycle with its traceback, which keeps the loader's iterator, and its workers
            del error


def _picklable_type(kind: type) -> type:
    """The exception's type, or RuntimeError for a type that another process cannot look up by name.

    Also for StopIteration, which a loop over the loader would take for the end of the data.
    """
    import pickle

    if issubclass(kind, StopIteration):
        return RuntimeError

    try:
        pickle.dumps(kind)
    except Exception:  # whatever a metaclass raises
        return RuntimeError
    return kind
