"""A store of results as frames of pandas or polars, and the program's reports."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sqlite3
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any, Optional, Union

VIEWS = ("v_cell", "v_final", "v_paired", "v_timing")

CURVES = """
SELECT f.method, f.schedule, f.network, f.dataset, f.seed, f.run_id, m.name, m.split, m.step,
       m.epoch, m.train_ns, m.value
  FROM v_final f JOIN metric m USING(run_id)
 ORDER BY f.run_id, m.name, m.split, m.step"""


def _frames(name: Optional[str]) -> Any:
    """The module that makes frames. Raises ImportError that names what is missing."""
    for one in (name,) if name else ("pandas", "polars"):
        if one not in ("pandas", "polars"):
            raise ValueError(f'frames = "{one}": expected pandas or polars')
        try:
            return importlib.import_module(one)
        except ModuleNotFoundError:
            continue
    raise ImportError(f"approxtrain.load needs {name or 'pandas or polars'}, which is not "
                      f"installed: pip install {name or 'pandas'}")


class Store:
    """A store of results, read only. Every table is read when it is asked for first."""

    def __init__(self, path: Union[str, os.PathLike[str]], frames: Optional[str] = None) -> None:
        self.path: Path = Path(path)
        self._module = _frames(frames)
        if not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: no such file")
        try:
            there = {row[0] for row in self._rows("SELECT name FROM sqlite_master")[1]}
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path}: is no store of approxtrain: {error}") from error
        missing = [view for view in VIEWS if view not in there]
        if missing:
            raise ValueError(f"{self.path}: has no view {', '.join(missing)}: it is no store of "
                             "approxtrain, or one of an earlier version: approxtrain db check")

    def _rows(self, query: str, parameters: tuple[Any, ...] = ()) -> tuple[list[str], list[Any]]:
        address = f"{self.path.resolve().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True)
        try:
            cursor = connection.execute(query, parameters)
            return [column[0] for column in cursor.description], cursor.fetchall()
        finally:
            connection.close()

    def sql(self, query: str, parameters: tuple[Any, ...] = ()) -> Any:
        """The result of an SQL query as a frame. results/store/views.sql says what views there are.

        Raises sqlite3.Error.
        """
        names, rows = self._rows(query, parameters)
        if self._module.__name__ == "pandas":
            return self._module.DataFrame.from_records(rows, columns=names)
        return self._module.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    @cached_property
    def runs(self) -> Any:
        """The accuracy of every run with a result (v_final)."""
        return self.sql("SELECT * FROM v_final")

    @cached_property
    def curves(self) -> Any:
        """The metrics of these runs over their steps."""
        return self.sql(CURVES)

    @cached_property
    def comparisons(self) -> Any:
        """Each method beside the dense run of its seed (v_paired)."""
        return self.sql("SELECT * FROM v_paired")

    @cached_property
    def timings(self) -> Any:
        """The pairs of blocks of timing runs (v_timing)."""
        return self.sql("SELECT * FROM v_timing")


def load(path: Union[str, os.PathLike[str]], frames: Optional[str] = None) -> Store:
    """A store of results: `load("runs.db").runs`, `.curves`, `.comparisons`, `.timings`.

    `frames` is "pandas" or "polars"; None takes the first that is installed. Raises ImportError if
    none is, FileNotFoundError, and ValueError for a file that is no store.
    """
    return Store(path, frames)


def report(name: str, experiment: str = "", *, db: Union[str, os.PathLike[str]] = "results.db",
           program: str = "") -> Any:
    """What `approxtrain report NAME EXPERIMENT --db DB --format json` prints, as Python values.

    The program's statistics (intervals, verdicts) are there and nowhere else. `program` is its
    path; else the one that APPROXTRAIN_PROGRAM names, else the one on PATH. Raises
    FileNotFoundError if there is none, RuntimeError with the program's message.
    """
    found = program or os.environ.get("APPROXTRAIN_PROGRAM", "") or shutil.which("approxtrain")
    if not found or shutil.which(found) is None:
        raise FileNotFoundError(f"approxtrain.report needs the program "
                                f"{found or 'approxtrain'}, which is not installed: build it, or "
                                "name it by program= or APPROXTRAIN_PROGRAM")
    command = [found, "report", name, *([experiment] if experiment else []), "--db", os.fspath(db),
               "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"approxtrain report {name}: {lines[-1]}")
    return json.loads(done.stdout)
