"""Kinds of arguments: a TypeError names the argument, what it is, and what was given."""

from __future__ import annotations

import numbers
from typing import Any, Callable, Dict, Iterable, List, Tuple

import numpy as np

Kind = Tuple[str, Callable[[Any], bool]]


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _numbers(count: int) -> Callable[[Any], bool]:
    def are_numbers(value: Any) -> bool:
        try:
            return not isinstance(value, (str, bytes)) and len(value) == count and all(_is_number(each) for each in value)
        except TypeError:
            return False

    return are_numbers


NUMBER: Kind = ("a number", _is_number)
WHOLE: Kind = ("a whole number", _is_whole)
TEXT: Kind = ("a text", lambda value: isinstance(value, str))
POSITION: Kind = ("three numbers in mm (x, y, z)", _numbers(3))
PAIR: Kind = ("two numbers", _numbers(2))
POSE: Kind = ("six numbers (tx, ty, tz in mm, rx, ry, rz in degrees)", _numbers(6))

_KINDS: Dict[str, Kind] = {
    **dict.fromkeys(("grid", "histories", "uncertainty", "threshold", "max_gamma", "beamlets", "rows", "couch", "sad", "sid", "shift_mm"), NUMBER),
    **dict.fromkeys(("step", "energy_mev", "bone", "side", "share"), NUMBER),
    **dict.fromkeys(("seed", "directions", "electron_cut_kev", "subset", "arcs", "bits", "shift_dates", "scenarios"), WHOLE),
    **dict.fromkeys(("quality", "dose_to", "machine", "hu_table", "body", "device", "engine", "variant"), TEXT),
    **dict.fromkeys(("goals", "technique", "dims", "structure", "integrator", "curve", "metric", "method"), TEXT),
    **dict.fromkeys(("isocentre",), POSITION),
    **dict.fromkeys(("pose", "start"), POSE),
    **dict.fromkeys(("reach", "shift", "size"), PAIR),
}


def typed(arguments: Dict[str, Any], **kinds: Kind) -> Dict[str, Any]:
    """The arguments, arrays of a few numbers as tuples; None stands for one that was left out. ``kinds``: of names that have
    another kind elsewhere."""
    taken = dict(arguments)
    for name, value in arguments.items():
        kind = kinds.get(name) or _KINDS.get(name)
        if kind is None or value is None:
            continue
        words, is_kind = kind
        if not is_kind(value):
            raise TypeError(f"{name} is {words}, not {_shown(value)}")
        if isinstance(value, np.ndarray):
            taken[name] = tuple(value)
    return taken


def listed(values: Any, kind: Kind, words: str) -> List[Any]:
    """Values of one kind, else a TypeError of these words."""
    values = list(values) if isinstance(values, Iterable) else [values]
    if not all(kind[1](value) for value in values):
        raise TypeError(words)
    return [tuple(value) if isinstance(value, np.ndarray) else value for value in values]


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 40 else type(value).__name__
