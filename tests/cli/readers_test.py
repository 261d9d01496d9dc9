"""Reports beside a sweep: each answers, none sees half a run, and they hardly delay the sweep's
commits.

`readers_test.py [REPORTS]`: 60 unless told. From 1,000 on the 99th percentile of the delays is held
to 100 ms.
"""

import json
import sys
import threading

from disk_faults import SHIM
from program import Folder, expect, expect_equal, finish, wait_until

REPORTS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
READERS = 2
MOST_MS = 100

SWEEP = f"""id = "fake:read"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-{20 * REPORTS - 1}"
"""


def read(folder, count, seen):
    """Each report has as many finished runs as the one before, or more."""
    for _ in range(count):
        code, out, err = folder.run("report", "table", "--db", "t.db", "--format", "json")
        expect_equal(code, 0, f"report: exit code ({err})")
        expect("locked" not in err, f"report: {err}")
        rows = json.loads(out)["rows"] if code == 0 else []
        seen.append(rows[0]["finished"] if rows else 0)
    expect(seen == sorted(seen), f"reports went back: {seen}")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


with Folder(SWEEP) as folder:
    waits = folder.file("waits")
    process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--progress", "none",
                           env={"LD_PRELOAD": SHIM, "APPROXTRAIN_LOCK_WAITS": waits,
                                "APPROXTRAIN_FAKE_STEP_MS": "0"})
    wait_until(lambda: folder.query("SELECT 1 FROM run WHERE state = 'finished'"))
    seen = [[] for _ in range(READERS)]
    readers = [threading.Thread(target=read, args=(folder, REPORTS // READERS, one))
               for one in seen]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    expect_equal(process.poll(), None, "the sweep ended before the reports")
    process.terminate()
    err = process.communicate(timeout=60)[1].decode()
    expect_equal(process.returncode, 143, f"the sweep: exit code ({err})")
    expect("locked" not in err, f"the sweep: {err}")
    expect(max(map(max, seen)) > min(map(min, seen)), f"reports saw no run that finished: {seen}")
    folder.check_database()
    with open(waits, encoding="utf-8") as lines:
        delays = [int(line) / 1000 for line in lines]
    waited = [ms for ms in delays if ms > 1]
    late = percentile(delays, 0.99)
    print(f"{sum(map(len, seen))} reports beside {len(delays)} commits: {len(waited)} waited more "
          f"than 1 ms; the 99th percentile is {late:.1f} ms, the longest {max(delays):.1f} ms")
    expect(len(delays) > 2 * max(map(max, seen)), "not every commit was seen")
    if REPORTS >= 1000:
        expect(late < MOST_MS, f"the 99th percentile of the delays is {late:.1f} ms")
finish()
