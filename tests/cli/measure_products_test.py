"""scripts/measure-products measures what the store lacks and nothing twice; the tables made of it
say what the rows say, on rows whose times are known."""

import array
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ["APPROXTRAIN_PROGRAM"])
ENGINE = os.path.abspath(os.environ["APPROXTRAIN_FAKE_ENGINE"])
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")
# N, Ci, map, Co, kernel, stride, padding.
SHAPES = {"N2,C4,K4,H8,R3,S1,P1": (2, 4, 8, 4, 3, 1, 1),
          "N1,C4,K8,H8,R3,S2,P1": (1, 4, 8, 8, 3, 2, 1)}

sys.path.insert(0, SCRIPTS)
from measured import products as tables  # noqa: E402  (lies beside the scripts that use it)
from measured.store import Store  # noqa: E402


def write_lists(folder, shapes):
    for table in tables.CASES:
        with open(os.path.join(folder, f"performance_{table}.txt"), "w", encoding="utf-8") as out:
            out.write("# a remark\n" + "".join(f"layer {shape} # another\n" for shape in shapes))


def measure(folder, *arguments):
    done = subprocess.run(
        [sys.executable, os.path.join(SCRIPTS, "measure-products"), os.path.join(folder, "m.db"),
         "--lists", folder, "--threads", "1", "--repetitions", "2", "--min-time", "1ms",
         *arguments],
        capture_output=True, text=True, check=False, cwd=folder, timeout=100,
        # The lock of timings is the folder's own.
        env={**os.environ, "APPROXTRAIN_PROGRAM": PROGRAM, "APPROXTRAIN_ENGINE": ENGINE,
             "XDG_RUNTIME_DIR": folder})
    return done.returncode, done.stdout, done.stderr


def check_measuring(folder):
    first, second = SHAPES
    write_lists(folder, [first])
    code, commands, _ = measure(folder, "--dry-run")
    # One command a shape; a table that shows all variants wants all.
    assert code == 0 and commands.count("\n") == 1 and "--chosen" not in commands, commands
    without = ",".join(set(tables.CASES) - tables.ALL_VARIANTS)
    assert "--chosen" in measure(folder, "--dry-run", "--tables", without)[1]
    assert not os.path.exists(os.path.join(folder, "m.db"))
    code, _, said = measure(folder, "--tables", "exact,position")
    assert code == 0 and said == f"1 of 1: {first}, {said.split(', ')[-1]}", said
    # What is there is left out: of this shape the other tables are missing.
    code, commands, _ = measure(folder, "--dry-run")
    assert "--densities 0.5,0.4," in commands and "dense" not in commands, commands
    assert "topk_position" in commands, "choosing wants it, and has another product missing"
    write_lists(folder, [first, second])
    code, _, said = measure(folder)
    assert code == 0 and said.count("of 2:") == 2, said
    code, _, said = measure(folder)
    assert code == 0 and said == "measure-products: nothing left to do\n", said
    code, commands, _ = measure(folder, "--dry-run", "--threads", "2")
    assert commands.count("--threads 2") == 2, "another number of threads is another measurement"
    for table in set(tables.CASES) - {"narrow"}:  # whose variants the fake engine has under no name
        text = tables.section(Store(os.path.join(folder, "m.db")), table, folder)
        assert text.startswith("Made by `scripts/measure-products --tables " + table), text
        assert "1 thread" in text and "| 2,4,8,4,3x3/1 " in text or table == "choosing", text
        assert "Not measured" not in text
    assert measure(folder, "--tables", "nothing")[0] == 2


def add_row(db, shape, op, method, variant, chosen, ns, baseline_ns):
    n, ci, size, co, kernel, stride, padding = SHAPES[shape]
    text = json.dumps({"batch": n, "in_channels": ci, "size": size, "out_channels": co,
                       "kernel": kernel, "stride": stride, "padding": padding, "groups": 1})
    case = db.execute("INSERT INTO kernel_case(op, method, variant, shape, precision, threads, "
                      "device) VALUES(?, ?, ?, ?, 'fp32', 2, 'cpu')",
                      (op, method, variant, text)).lastrowid
    db.execute("INSERT INTO kernel_result(kernel_run_id, kernel_case_id, n, ns, baseline_n, "
               "baseline_ns, gflops, plan_ns, special, verdict, reason, label, chosen, "
               "ceiling_gflops) VALUES(1, ?, ?, ?, ?, ?, 50, 2e6, '{}', 'faster', '', '', ?, 200)",
               (case, len(ns), array.array("q", ns).tobytes(), len(baseline_ns),
                array.array("q", baseline_ns).tobytes(), chosen))


def check_tables(folder):
    path = os.path.join(folder, "known.db")
    schema = subprocess.run([PROGRAM, "db", "schema"], check=True, capture_output=True,
                            text=True).stdout
    shape = next(iter(SHAPES))
    write_lists(folder, [shape])
    with sqlite3.connect(path) as db:
        db.executescript(schema)
        db.execute("INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}')")
        db.execute("INSERT INTO build VALUES(1, 'abcdefabcdefabcdef', 1, 'g++', '', '2', '', '')")
        db.execute("INSERT INTO kernel_run(kernel_run_id, host_id, build_id, started_utc, "
                   "environment) VALUES(1, 1, 1, '2026-11-24T00:00:00Z', ?)",
                   (json.dumps({"cpu_model": "a processor", "cpu_capability": "AVX9"}),))
        for op in tables.PRODUCTS:
            add_row(db, shape, op, "dense", "libtorch channels last", 0, [4_000_000] * 3,
                    [3_000_000] * 3)
            add_row(db, shape, op, "dense", "libtorch channels first", 0, [8_000_000] * 3,
                    [3_000_000] * 3)
            add_row(db, shape, op, "dense", "packed channels last", 1, [3_000_000] * 3,
                    [3_000_000] * 3)
        for density in tables.DENSITIES:
            method = tables.AT_RANDOM + density
            # 8 over 2, and 4 over 4 by the exact product; together 12 over 6. A variant that no
            # layer takes is nowhere.
            add_row(db, shape, "data_gradient", method, "exact", 0, [1] * 3, [8_000_000] * 3)
            add_row(db, shape, "data_gradient", method, "sparse_rows", 1, [2_000_000] * 3,
                    [8_000_000] * 3)
            add_row(db, shape, "weight_gradient", method, "exact", 1, [4_000_000] * 4,
                    [4_000_000] * 4)
        for variant, chosen, ms in (("gather", 1, 1), ("whole", 0, 2)):
            add_row(db, shape, "data_gradient", tables.SAMPLED, variant, chosen, [ms * 10**6] * 2,
                    [3_000_000] * 2)
        for share in tables.SHARES[1:]:
            add_row(db, shape, "data_gradient", "topk_crs:ratio=" + share, "gather", 1,
                    [1_000_000] * 2, [3_000_000] * 2)
        # Pairs that differ: the t-interval over their logarithms.
        add_row(db, shape, "data_gradient", "sdgp:n=2,m=4,rank=magnitude", "rows", 1,
                [1_000_000] * 3, [1_000_000, 2_000_000, 4_000_000])
        add_row(db, shape, "data_gradient", "sdgp:n=1,m=4,rank=magnitude", "rows", 1,
                [1_000_000] * 2, [2_000_000] * 2)
        add_row(db, shape, "data_gradient", "stochastic_pruning:p=0.9", "rows", 1,
                [1_000_000] * 2, [2_000_000] * 2)
    db.close()

    def lines(table):
        return tables.section(Store(path), table, folder).split("\n")
    assert ("| 2,4,8,4,3x3/1 | forward | 4 (50, 25 %) | 8 (50, 25 %) | **3 (50, 25 %)** | "
            "1.33 [1.33, 1.33] |") in lines("exact"), lines("exact")
    pruned = lines("pruned")
    assert "| 2,4,8,4,3x3/1 | data gradient (8) |" + " 4.00 |" * 7 in pruned, pruned
    assert "|  | weight gradient (4) |" + " (1.00) |" * 7 in pruned, pruned
    assert "|  | both (12) |" + " 2.00 |" * 7 in pruned, pruned
    narrow = lines("narrow")
    assert "| 2,4,8,4,3x3/1 | gathered | 3 |" + " **3.00 [3.00, 3.00]** |" * 3 in narrow, narrow
    assert "|  | whole | 3 | 1.50 [1.50, 1.50] | – | – |" in narrow, narrow
    half = 4.302653 * math.log(2) / math.sqrt(3)  # the deviation of logarithms is log 2
    assert (f"| 2,4,8,4,3x3/1 | 2 | 2.00 [{2 * math.exp(-half):.2f}, {2 * math.exp(half):.2f}] | "
            "2.00 [2.00, 2.00] |") in lines("structured"), lines("structured")
    assert "| `stochastic_pruning:p=0.9` | dY | 0.0 | 2 |" in lines("choosing"), lines("choosing")
    origin = ("a processor, AVX9, 2 threads, multiply-adds in registers 200 GFLOP/s, 2026-11-24, "
              "commit abcdefabcdef (changed); 3 pairs or more")
    assert any(line.startswith(origin) for line in pruned), pruned
    stored = tables.Products(path)
    assert stored.has("pruned", 2, shape) and not stored.has("pruned", 1, shape)
    assert not stored.has("narrow", 2, shape), "of two shares what a layer takes alone"
    # Nothing of it is in the store, or there is no store.
    for absent in (tables.section(Store(path), "position", folder),
                   tables.section(None, "position")):
        assert absent.startswith("Not measured yet: `scripts/measure-products --tables position")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_measuring(folder)
        check_tables(folder)
    for table in tables.CASES:
        assert len(set(tables.listed(table))) == len(tables.listed(table)) > 0, table


if __name__ == "__main__":
    main()
