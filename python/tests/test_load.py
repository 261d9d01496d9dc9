"""Stores as frames, and the program's reports."""

import sqlite3
import sys
import types
from pathlib import Path

import approxtrain
import pytest

ROOT = Path(__file__).parents[2]


class Frame:
    """What both modules make, as far as these tests ask."""

    def __init__(self, rows, names):
        self.rows, self.columns = rows, list(names)

    def column(self, name):
        return [row[self.columns.index(name)] for row in self.rows]


@pytest.fixture
def pandas(monkeypatch):
    module = types.ModuleType("pandas")

    class DataFrame(Frame):
        @classmethod
        def from_records(cls, rows, columns):
            return cls(rows, columns)
    module.DataFrame = DataFrame
    monkeypatch.setitem(sys.modules, "pandas", module)


@pytest.fixture
def polars(monkeypatch):
    module = types.ModuleType("polars")

    class DataFrame(Frame):
        def __init__(self, rows, schema, orient, infer_schema_length):
            super().__init__(rows, schema)
    module.DataFrame = DataFrame
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", module)


@pytest.fixture
def store(tmp_path):
    """A store with one method beside dense, two seeds, and a timing."""
    path = tmp_path / "runs.db"
    database = sqlite3.connect(path)
    for part in ("schema", "views"):
        database.executescript((ROOT / f"results/store/{part}.sql").read_text())
    database.executescript("""
        PRAGMA foreign_keys = OFF;
        INSERT INTO host(host_id, fingerprint, hostname, cpu_model, n_cores, ram_bytes, gpu_model,
                         detail) VALUES (1, 'f', 'h', 'c', 2, 1, '', '{}');""")
    for table in ("cell", "run", "metric", "timing_block"):
        database.execute(f"CREATE TEMP TABLE defaults_{table} AS SELECT * FROM {table} LIMIT 0")

    def insert(table, **values):
        for _, name, kind, required, fallback, key in database.execute(
                f"PRAGMA table_info({table})").fetchall():
            if required and fallback is None and not key and name not in values:
                values[name] = 0 if kind in ("INTEGER", "REAL") else ""
        database.execute(f"INSERT INTO {table}({','.join(values)}) VALUES "
                         f"({','.join('?' * len(values))})", list(values.values()))

    run = 0
    for method, base in (("dense", 0.9), ("zero", 0.85)):
        for seed in (0, 1):
            run += 1
            insert("cell", cell_id=run, run_key=f"key{run}", purpose="accuracy", method=method,
                   seed=seed, network="small_cnn")
            insert("run", run_id=run, cell_id=run, attempt=1, host_id=1, build_id=1, dataset_id=1,
                   state="finished", ended_utc="now", train_ns=1000 * run)
            for step in (10, 20):
                insert("metric", run_id=run, name="accuracy", split="test", step=step,
                       epoch=step / 10, value=base + seed / 100 + step / 1000)
    database.commit()
    database.close()
    return path


def check(store):
    assert sorted(store.runs.column("method")) == ["dense", "dense", "zero", "zero"]
    assert max(store.runs.column("accuracy")) == pytest.approx(0.93)
    assert len(store.curves.rows) == 8 and set(store.curves.column("step")) == {10, 20}
    assert store.comparisons.column("accuracy_loss") == pytest.approx([0.05, 0.05])
    assert store.timings.rows == [] and "speedup" in store.timings.columns
    assert store.sql("SELECT count(*) AS n FROM run WHERE state = ?", ("finished",)).rows == [(4,)]


def test_pandas_is_taken_first(store, pandas):
    check(approxtrain.load(store))


def test_polars_otherwise(store, polars):
    check(approxtrain.load(store))
    with pytest.raises(ImportError, match="needs pandas, which is not installed"):
        approxtrain.load(store, frames="pandas")


def test_neither(store, monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="needs pandas or polars, which is not installed: pip"):
        approxtrain.load(store)


def test_nothing_is_written(store, pandas):
    before = store.read_bytes()
    with pytest.raises(sqlite3.Error, match="readonly"):
        approxtrain.load(store).sql("DELETE FROM run")
    assert store.read_bytes() == before


def test_what_is_no_store(tmp_path, pandas):
    with pytest.raises(FileNotFoundError, match="nothing.db: no such file"):
        approxtrain.load(tmp_path / "nothing.db")
    assert not (tmp_path / "nothing.db").exists()
    (tmp_path / "text.db").write_text("no database " * 100)
    with pytest.raises(ValueError, match="text.db: is no store of approxtrain"):
        approxtrain.load(tmp_path / "text.db")
    sqlite3.connect(tmp_path / "empty.db").executescript("CREATE TABLE t(a)")
    with pytest.raises(ValueError, match="has no view v_cell, v_final, v_paired, v_timing"):
        approxtrain.load(tmp_path / "empty.db")
    with pytest.raises(ValueError, match='frames = "numpy"'):
        approxtrain.load(tmp_path / "empty.db", frames="numpy")


def test_reports_come_from_the_program(program):
    database = next((ROOT / "results/measured").glob("*/wang2019.db"))
    rows = approxtrain.report("table", db=database, program=program)
    assert rows and isinstance(rows, (list, dict))
    with pytest.raises(RuntimeError, match="^approxtrain report nosuch: ") as caught:
        approxtrain.report("nosuch", "nosuch", db=database, program=program)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(FileNotFoundError, match="needs the program /nowhere/approxtrain"):
        approxtrain.report("table", db=database, program="/nowhere/approxtrain")
