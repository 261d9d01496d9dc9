"""One signal ends a sweep in order, the second at once; the terminal is left as it was.

`signals_test.py [TURNS]`: once unless told.
"""

import fcntl
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import termios
import time

from program import (Folder, PROGRAM, expect, expect_equal, finish, processes_in, wait_until,
                     workers_of)

TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
AT_ONCE = 1  # second; it is a tenth of that also where other work keeps cores and disk busy

LONG = """id = "fake:long"
network = "small_cnn"
dataset = "mnist14"
method = "zero"
seeds = "0-3"
"""


def wait_for_run(folder):
    return wait_until(lambda: folder.query("SELECT 1 FROM run WHERE state = 'running'"), 30)


def left_in(folder):
    """What a coordinator that is gone has left. One that was about to become a worker still has the
    coordinator's command line."""
    return [pid for pid, _ in processes_in(folder)]


def one_signal():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        with Folder(LONG) as folder:
            process = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="*=slow",
                                   env={"APPROXTRAIN_FAKE_STEP_MS": "200"})
            expect(wait_for_run(folder), f"{number}: no run began")
            time.sleep(0.5)
            begin = time.monotonic()
            process.send_signal(number)
            err = process.communicate(timeout=60)[1].decode()
            expect_equal(process.returncode, 128 + number, f"{number}: exit code ({err})")
            expect(time.monotonic() - begin < 10, f"{number}: slow to stop")
            states = set(folder.states().values())
            expect(states <= {"interrupted", "finished"} and "interrupted" in states,
                   f"{number}: states {states}")
            expect_equal(left_in(folder), [], f"{number}: workers left")
            code, _, err = folder.sweep()
            expect_equal(code, 0, f"{number}: exit code of the second sweep ({err})")
            expect_equal(len(folder.states()), 4, f"{number}: cells")
            expect_equal(set(folder.states().values()), {"finished"}, f"{number}: states at last")
            folder.check_database()


def stopped_while_the_database_is_locked(number):
    """Another program keeps the database: a sweep that has a run to record hears two signals."""
    with Folder(LONG) as folder:
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="*=finish",
                               env={"APPROXTRAIN_FAKE_STEP_MS": "100"})
        expect(wait_for_run(folder), "locked: no run began")
        browser = sqlite3.connect(folder.file("t.db"), isolation_level=None)
        browser.execute("BEGIN IMMEDIATE")
        while workers_of(folder):
            time.sleep(0.02)
        time.sleep(1)
        expect_equal(process.poll(), None, "locked: the sweep waits")
        for _ in range(2):
            process.send_signal(number)
            time.sleep(0.3)
        begin = time.monotonic()
        err = process.communicate(timeout=100)[1].decode()
        expect(time.monotonic() - begin < 10, f"locked: slow to stop ({err})")
        expect_equal(process.returncode, 128 + number, f"locked: exit code ({err})")
        expect("interrupted while another program had the database" in err, f"locked: {err}")
        browser.execute("ROLLBACK")
        browser.close()
        code, _, err = folder.sweep()
        expect_equal(code, 0, f"locked: exit code of the second sweep ({err})")
        expect_equal((len(folder.states()), set(folder.states().values())), (4, {"finished"}),
                     "locked: states at last")
        expect_equal(len(folder.query("SELECT 1 FROM run")), 4, "locked: nothing was done again")
        folder.check_database()


def stopped_before_the_first_run():
    """A sweep that has begun none yet hears one signal while another program has the database."""
    with Folder(LONG) as folder:
        expect_equal(folder.sweep()[0], 0, "before the first: the sweep that makes the database")
        browser = sqlite3.connect(folder.file("t.db"), isolation_level=None)
        browser.execute("BEGIN IMMEDIATE")
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--rerun", "finished")
        time.sleep(2)
        expect_equal(process.poll(), None, "before the first: the sweep waits")
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=100)[1].decode()
        expect(time.monotonic() - begin < 5, f"before the first: slow to stop ({err})")
        expect_equal(process.returncode, 130, f"before the first: exit code ({err})")
        browser.execute("ROLLBACK")
        browser.close()


def two_signals():
    """Seconds that a sweep took to end after the second, the disk included."""
    with Folder(LONG) as folder:
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--grace", "300s",
                               fake="*=hang")
        expect(wait_for_run(folder), "twice: no run began")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        expect_equal(process.poll(), None, "twice: the first signal lets a worker finish its step")
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1].decode()
        took = time.monotonic() - begin
        expect_equal(process.returncode, 130, f"twice: exit code ({err})")
        expect_equal(left_in(folder), [], "twice: workers left")
        expect(took <= AT_ONCE, f"twice: it ended {took:.2f} s after the second signal")
        expect_equal(set(folder.states().values()), {"interrupted"}, "twice: states")
        return took


def warned_ahead_of_the_end():
    """SIGUSR1 is never the second signal; what comes behind it is the first."""
    with Folder(LONG) as folder:
        # Grace for longer than is waited for here: it is the second signal that ends it.
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--grace", "300s",
                               fake="*=hang")
        expect(wait_for_run(folder), "warned: no run began")
        for number in (signal.SIGUSR1, signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR1):
            process.send_signal(number)
            time.sleep(0.3)
            expect_equal(process.poll(), None, f"warned: the end came with {number}")
        expect(workers_of(folder), "warned: a worker was killed")
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=60)[1].decode()
        expect_equal(process.returncode, 143, f"warned: exit code ({err})")
        expect_equal(left_in(folder), [], "warned: workers left")


def every_process_is_told():
    """A batch system signals all processes of a job: workers end in order, and none has failed."""
    for number in (signal.SIGUSR1, signal.SIGTERM):
        for wait in (0, 0.02, 0.5):
            with Folder(LONG) as folder:
                process = folder.start("sweep", "sweep.toml", "--db", "t.db",
                                       env={"APPROXTRAIN_FAKE_STEP_MS": "300"})
                wait_until(lambda: workers_of(folder))
                time.sleep(wait)
                for pid in [process.pid, *workers_of(folder)]:
                    os.kill(pid, number)
                err = process.communicate(timeout=60)[1].decode()
                what = f"all told {number} after {wait} s"
                expect_equal(process.returncode, 128 + number, f"{what}: exit code ({err})")
                expect("failed" not in err, f"{what}: {err}")
                expect_equal(set(folder.states().values()), {"interrupted"}, f"{what}: states")


def hung_worker_and_one_signal():
    with Folder(LONG) as folder:
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", "--grace", "1s",
                               fake="*=hang")
        expect(wait_for_run(folder), "hung: no run began")
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=60)[1].decode()
        expect_equal(process.returncode, 143, f"hung: exit code ({err})")
        expect_equal(left_in(folder), [], "hung: workers left")


def on_a_terminal(times):
    """A bar, interrupted by the terminal's own key, which is pressed so many times: nothing of the
    bar is left on the line, and the terminal has the settings that it had."""
    with Folder(LONG) as folder:
        ours, theirs = pty.openpty()
        settings = termios.tcgetattr(ours)
        env = folder.environment("*=slow" if times == 1 else "*=stubborn", TERM="xterm",
                                 APPROXTRAIN_FAKE_STEP_MS="200")
        process = subprocess.Popen([PROGRAM, "sweep", "sweep.toml", "--db", "t.db", "--grace",
                                    "300s"], cwd=folder.path, env=env, stdin=theirs, stdout=theirs,
                                   stderr=theirs, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        shown, pressed, begin = b"", [], time.monotonic()
        while time.monotonic() - begin < 60:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    block = os.read(ours, 65536)
                except OSError:
                    break
                if not block:
                    break
                shown += block
            now = time.monotonic()
            if b"step 2/5" in shown and len(pressed) < times and (not pressed or
                                                                  now - pressed[-1] > 0.5):
                os.write(ours, b"\x03")
                pressed.append(now)
        what = f"terminal, {times} keys"
        expect_equal(process.wait(timeout=30), 130, f"{what}: exit code ({shown!r})")
        expect_equal(len(pressed), times, f"{what}: when it ended")
        expect_equal(termios.tcgetattr(ours), settings, f"{what}: settings")
        expect(b" left (" in shown and b"loss" in shown, f"{what}: no bar in {shown!r}")
        expect(b"\x1b[?25l" not in shown, f"{what}: the cursor was hidden")
        last = shown.rstrip().rsplit(b"\n", 1)[-1]
        expect(b"step " not in last.rsplit(b"\x1b[K", 1)[-1], f"{what}: last line {last!r}")
        redraws = shown.count(b"\x1b[K")
        expect(redraws < 12 * (time.monotonic() - begin) + 10, f"{what}: {redraws} redraws")
        os.close(ours)


def worker_dies_with_its_coordinator():
    with Folder(LONG) as folder:
        process = folder.start("sweep", "sweep.toml", "--db", "t.db", fake="*=hang")
        expect(wait_for_run(folder), "orphans: no run began")
        process.kill()
        process.communicate()
        end = time.monotonic() + 5
        while left_in(folder) and time.monotonic() < end:
            time.sleep(0.05)
        expect_equal(left_in(folder), [], "orphans")


took = []
for _ in range(TURNS):
    one_signal()
    took.append(two_signals())
    for keys in (1, 2):
        on_a_terminal(keys)
    worker_dies_with_its_coordinator()
warned_ahead_of_the_end()
every_process_is_told()
for locked in (signal.SIGINT, signal.SIGTERM):
    stopped_while_the_database_is_locked(locked)
stopped_before_the_first_run()
hung_worker_and_one_signal()
print(f"ended at most {max(took):.2f} s after the second of two signals, {TURNS} times")
finish()
