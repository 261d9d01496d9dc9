"""Stores as older programs left them, and what is in one."""

import os
import re
import sqlite3

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def make_old(db, schema, runs, epochs):
    """A store of finished runs, as a program of that schema left it."""
    connection = sqlite3.connect(db)
    with open(os.path.join(ROOT, "results/store/schema.sql"), encoding="utf-8") as sql:
        for part in re.split("^(?=-- Version )", sql.read(), flags=re.MULTILINE)[:schema]:
            connection.executescript(part)
    connection.execute(f"PRAGMA user_version = {schema}")
    with connection:
        connection.execute("INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}')")
        connection.execute("INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '')")
        connection.execute("INSERT INTO dataset VALUES(1, 'mnist', 'full', 'feed', 9, 9, 0)")
        connection.execute("INSERT INTO experiment VALUES(1, 'test:old', '', '', '', '', NULL, "
                           "NULL, 'null', '2026-01-01T00:00:00Z')")
        connection.executemany(
            "INSERT INTO cell VALUES(?1, printf('%016x', ?1), 'accuracy', 'zero', '[]', 'lenet', "
            "'mnist', ?1, 'paper', 9, '{}', 1, 'fp32', 1, 'cpu', '{}', 'shared')",
            [(number,) for number in range(1, runs + 1)])
        connection.execute(
            "INSERT INTO experiment_cell SELECT cell_id, 1, cell_id, seed, 'zero', '', 'lenet', "
            "dataset, purpose, seed, '' FROM cell")
        connection.execute(
            "INSERT INTO run(cell_id, attempt, host_id, build_id, dataset_id, state, isolated, "
            "run_directory, started_utc, ended_utc, train_ns, wall_ns, environment) "
            "SELECT cell_id, 1, 1, 1, 1, 'finished', 0, 'runs/' || cell_id, "
            "'2026-01-01T00:00:00Z', '2026-01-01T00:00:09Z', 1, 2, '{}' FROM cell")
        connection.executemany(
            "INSERT INTO metric SELECT run_id, 'accuracy', 'test', ?1, ?1, ?1, 0.5, NULL FROM run",
            [(epoch,) for epoch in range(1, epochs + 1)])
    connection.close()


def content(db):
    """Every row of every table."""
    connection = sqlite3.connect(db)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()
