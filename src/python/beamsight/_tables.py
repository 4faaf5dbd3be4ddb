"""DVHs of several structures, as a dictionary and as tables."""

from __future__ import annotations

import html
from typing import Any, Dict, Sequence, Union

from . import _beamsight as core
from .errors import ArgumentError


class Dvhs(Dict[str, Union[core.Dvh, str]]):
    """DVHs by the names of their structures; of a structure without one the sentence that says why."""

    def to_pandas(self, metrics: Sequence[str] = ()) -> Any:
        """A table of pandas, a row for each structure: volume, the share of it outside the dose, least, mean and greatest dose, each of
        ``metrics`` by its word (``D95%``, ``V20Gy``), NaN where a metric has no value, the status of the dose, and ``note``:
        what is to be known with the figures."""
        import pandas

        rows = [_row(name, dvh, metrics) for name, dvh in self.items()]
        return pandas.DataFrame(rows).set_index("structure") if rows else pandas.DataFrame()

    def _repr_html_(self) -> str:
        rows = [_row(name, dvh, ()) for name, dvh in self.items()]
        heads = ["structure", "volume_cm3", "outside_percent", "min_gy", "mean_gy", "max_gy", "status", "note"]
        cells = [[_text(row.get(head, "")) for head in heads] for row in rows]
        lines = ["".join(f"<td>{html.escape(cell)}</td>" for cell in line) for line in cells]
        head = "".join(f"<th>{head}</th>" for head in heads)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _text(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _row(name: str, dvh: Union[core.Dvh, str], metrics: Sequence[str]) -> Dict[str, Any]:
    if isinstance(dvh, str):
        return {"structure": name, "note": dvh}
    row: Dict[str, Any] = {
        "structure": name,
        "volume_cm3": dvh.volume_cm3,
        "outside_percent": dvh.outside_percent,
        "min_gy": dvh.min_gy,
        "mean_gy": dvh.mean_gy,
        "max_gy": dvh.max_gy,
    }
    notes = list(dvh.remarks)
    for word in metrics:
        try:
            row[word] = dvh.metric(word)
        except ArgumentError as why:
            row[word] = float("nan")
            notes.append(str(why))
    row["status"] = dvh.status_text
    row["note"] = "; ".join(notes)
    return row
