"""Stores as older programs left them, and what is in one."""

import os
import re
import sqlite3

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHEN = "'2026-01-01T00:00:00Z'"


def migrations():
    """The parts of the schema, one a version."""
    with open(os.path.join(ROOT, "results/store/schema.sql"), encoding="utf-8") as sql:
        return re.split("^(?=-- Version )", sql.read(), flags=re.MULTILINE)


# What programs of each version on add to a store that has runs, so that no table is empty.
MORE = {
    1: (
        "INSERT INTO layer_metric SELECT run_id, 'conv1', 'forward', 'dense', 2, 2, 8, 8, NULL "
        "FROM run",
        "INSERT INTO timing_block(run_id, pair, arm, block_order, steps, ns) "
        "SELECT run_id, 1, 'dense', 1, 5, 1000 FROM run",
        "INSERT INTO timing_block(run_id, pair, arm, block_order, steps, ns) "
        "SELECT run_id, 1, 'approx', 2, 5, 900 FROM run",
        f"INSERT INTO kernel_run(kernel_run_id, host_id, build_id, started_utc, environment) "
        f"VALUES(1, 1, 1, {WHEN}, '{{}}')",
        "INSERT INTO kernel_case VALUES(1, 'forward', 'crs', 'gather', '{}', 'fp32', 1, 'cpu')",
        "INSERT INTO kernel_result(kernel_run_id, kernel_case_id, label, n, ns, baseline_n, "
        "baseline_ns, ratio, special, verdict, reason) "
        "VALUES(1, 1, 'conv1', 1, x'0100000000000000', 0, x'', 1.5, '{}', 'faster', '')",
    ),
    2: (
        "INSERT INTO study_run(study_run_id, experiment, name, params, methods, host_id, build_id, "
        "started_utc, environment, content) VALUES(1, 'test:old', 'matmul-error', '{}', '[]', 1, "
        f"1, {WHEN}, '{{}}', '{{\"columns\": [], \"rows\": []}}')",
        "UPDATE kernel_run SET experiment = 'test:old'",
    ),
    3: ("UPDATE timing_block SET core_share = 0.9, repeats = 1",),
    4: ("UPDATE cell SET train_subset = 'per_seed'",),
    5: ("UPDATE kernel_result SET baseline_variant = 'libtorch', chosen = 1, density = 0.25, "
        "ceiling_gflops = 9",),
    6: ("INSERT INTO layer_variant SELECT run_id, 'conv1', 'forward', 'Dense', 'libtorch', 2 "
        "FROM run",),
    7: ("UPDATE run SET uid = printf('%016x-f', run_id)",
        "UPDATE kernel_run SET uid = printf('%016x-f', kernel_run_id)",
        "UPDATE study_run SET uid = printf('%016x-f', study_run_id)"),
    8: ("UPDATE cell SET stop_at = 0.4", "UPDATE timing_block SET clock_mhz = 2000",
        "UPDATE kernel_result SET bytes = 100, memory_gbs = 9"),
    9: ("INSERT INTO layer_traffic SELECT run_id, 'conv1', 4, 300, 600 FROM run",),
}


def make_old(db, schema, runs, epochs):
    """A store of finished runs, as a program of that schema left it: every table has rows."""
    connection = sqlite3.connect(db)
    for part in migrations()[:schema]:
        connection.executescript(part)
    connection.execute(f"PRAGMA user_version = {schema}")
    with connection:
        connection.execute("INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}')")
        connection.execute("INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '')")
        connection.execute("INSERT INTO dataset VALUES(1, 'mnist', 'full', 'feed', 9, 9, 0)")
        connection.execute("INSERT INTO experiment VALUES(1, 'test:old', '', '', '', '', NULL, "
                           f"NULL, 'null', {WHEN})")
        connection.executemany(
            "INSERT INTO cell(cell_id, run_key, purpose, method, schedule, network, dataset, seed, "
            "split, train_examples, recipe, batch_size, precision, threads, device, config) "
            "VALUES(?1, printf('%016x', ?1), 'accuracy', 'zero', '[]', 'lenet', 'mnist', ?1, "
            "'paper', 9, '{}', 1, 'fp32', 1, 'cpu', '{}')",
            [(number,) for number in range(1, runs + 1)])
        connection.execute(
            "INSERT INTO experiment_cell SELECT cell_id, 1, cell_id, seed, 'zero', '', 'lenet', "
            "dataset, purpose, seed, '' FROM cell")
        connection.execute(
            "INSERT INTO run(cell_id, attempt, host_id, build_id, dataset_id, state, isolated, "
            "run_directory, started_utc, ended_utc, train_ns, wall_ns, environment) "
            "SELECT cell_id, 1, 1, 1, 1, 'finished', 0, 'runs/' || cell_id, "
            f"{WHEN}, '2026-01-01T00:00:09Z', 1, 2, '{{}}' FROM cell")
        connection.executemany(
            "INSERT INTO metric SELECT run_id, 'accuracy', 'test', ?1, ?1, ?1, 0.5, NULL FROM run",
            [(epoch,) for epoch in range(1, epochs + 1)])
        for version, statements in MORE.items():
            for statement in statements if version <= schema else ():
                connection.execute(statement)
    connection.close()


def content(db):
    """Every row of every table."""
    connection = sqlite3.connect(db)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def rows(db, like=None):
    """The rows of each table, in the columns that the database `like` has."""
    connection, other = sqlite3.connect(db), sqlite3.connect(like or db)
    try:
        found = {}
        for (table,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            columns = ", ".join(row[1] for row in other.execute(f"PRAGMA table_info({table})"))
            found[table] = sorted(connection.execute(f"SELECT {columns} FROM {table}"), key=repr)
        return found
    finally:
        connection.close()
        other.close()
