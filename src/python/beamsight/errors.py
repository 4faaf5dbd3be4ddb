"""Exceptions of beamsight, with the program's own sentences: what is wrong, where, and what to do."""


class Error(Exception):
    """Any failure of beamsight."""


class ArgumentError(Error, ValueError):
    """A word, a number or an array that is out of its range or of the wrong shape."""


class FileError(Error, OSError):
    """A file or folder that is missing, damaged or contradictory, or cannot be written."""


class ComputationError(Error, RuntimeError):
    """A job that has no answer: the sentence says why."""


class NoMatchError(ComputationError):
    """A registration that found no match; its evidence stands in the sentence."""


class InternalError(Error):
    """A panic inside the engines: a bug, please report it."""


class StatusWarning(UserWarning):
    """A dose that is not to be relied on leaves as an array, which has no status."""


class UnjudgedWarning(UserWarning):
    """Points without a gamma, NaN, which neither pass nor fail."""
