"""Databases that something has damaged, by every command that reads one: an answer or one line that
says what is wrong, and never a crash, nor a word written to the file.

`mutations_test.py [DATABASES]`: so many, 60 unless told.
"""

import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile

from program import PROGRAM, expect, expect_equal, finish

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 60
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEED = int(os.environ.get("APPROXTRAIN_TEST_SEED", random.randrange(1 << 30)))
COMMANDS = [["db", "check"], ["report", "table"], ["report", "kernels"], ["sweep", "status"],
            ["db", "export", "tables"]]
PAGE = 4096


def flipped(data, draw):
    for _ in range(draw.choice([1, 1, 3, 30])):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def zeroed(data, draw):
    page = draw.randrange(len(data) // PAGE) * PAGE
    data[page:page + PAGE] = bytes(PAGE)


def exchanged(data, draw):
    a, b = (draw.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[a:a + PAGE], data[b:b + PAGE] = data[b:b + PAGE], data[a:a + PAGE]


def noise(data, draw):
    at = draw.randrange(len(data))
    some = draw.randbytes(draw.choice([4, 100, PAGE]))
    data[at:at + len(some)] = some[:len(data) - at]


def cut(data, draw):
    del data[draw.randrange(len(data)):]


def header(data, draw):
    data[draw.randrange(100)] = draw.randrange(256)


def schema(data, draw):
    """In the first pages, where the tables are described as SQL."""
    at = draw.randrange(100, min(len(data), 4 * PAGE))
    data[at] = draw.choice(b"\0 ();'\"xX9-")


def appended(data, draw):
    data += draw.randbytes(draw.choice([1, PAGE]))


MUTATIONS = [flipped, zeroed, exchanged, noise, cut, header, schema, appended]


def main():
    draw = random.Random(SEED)
    stores = sorted(glob.glob(os.path.join(ROOT, "results/measured/*/*.db")), key=os.path.getsize)
    originals = [open(store, "rb").read() for store in stores[:8]]
    answered = refused = 0
    with tempfile.TemporaryDirectory(prefix="approxtrain-test-") as folder:
        db = os.path.join(folder, "t.db")
        for number in range(COUNT):
            data = bytearray(draw.choice(originals))
            names = []
            for _ in range(draw.choice([1, 1, 2])):
                mutation = draw.choice(MUTATIONS)
                names.append(mutation.__name__)
                if len(data) > PAGE:
                    mutation(data, draw)
            with open(db, "wb") as out:
                out.write(data)
            # Sometimes with a journal that is not its own, or of a transaction that was cut off.
            journal = draw.choice([None, None, None, draw.randbytes(512), bytes(data[:1000])])
            if journal is not None:
                with open(db + "-journal", "wb") as out:
                    out.write(journal)
            for command in COMMANDS + [["db", "merge", db, "--db", os.path.join(folder, "all.db")]]:
                what = f"{' '.join(command)} of database {number} ({', '.join(names)}; seed {SEED})"
                place = [] if "merge" in command else ["--db", db]
                done = subprocess.run([PROGRAM, *command, *place], capture_output=True, cwd=folder,
                                      timeout=300)
                expect(done.returncode in (0, 2, 4, 6), f"{what}: {done.returncode}, {done.stderr}")
                if done.returncode in (2, 6):
                    expect_equal(done.stderr.count(b"\n"), 1, f"{what}: {done.stderr}")
                answered += done.returncode in (0, 4)
                refused += done.returncode in (2, 6)
                with open(db, "rb") as now:
                    expect(now.read() == data, f"{what}: it wrote to the file")
            for left in os.listdir(folder):
                path = os.path.join(folder, left)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    print(f"{COUNT} damaged databases, {answered + refused} commands: {answered} answered, "
          f"{refused} refused in one line, no crash, nothing written (seed {SEED})")


main()
finish()
