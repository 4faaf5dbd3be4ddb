"""Progress of long work: a callback of the caller, or a bar of tqdm."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator, Optional, Union

Progress = Union[None, bool, Callable[[float, str], object]]


@contextmanager
def callback(progress: Progress, title: str) -> Iterator[Optional[Callable[[float, str], object]]]:
    """The callback ``(fraction, step)`` of an argument ``progress``: itself, or that of a tqdm bar for True."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif progress is not True:
        raise TypeError(f"progress is True, or a function (fraction, step), not {type(progress).__name__}")
    else:
        try:
            from tqdm.auto import tqdm
        except ImportError as missing:
            raise ImportError("progress=True shows a bar of tqdm: pip install tqdm, or pass a function") from missing
        with tqdm(total=100, desc=title, unit="%") as bar:

            def show(fraction: float, step: str) -> None:
                bar.n = round(100 * fraction)
                bar.set_postfix_str(step, refresh=False)
                bar.refresh()

            yield show
