"""`approxtrain serve`: who gets an answer, what changes while a sweep runs, how it ends."""

import hashlib
import os
import signal
import socket
import sqlite3
import threading
import time

from program import Folder, expect, expect_equal, finish, wait_until
from serve_server import Server


class Events:
    """Lines of an answer of the event stream, as they come."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.socket.sendall((f"GET /{server.token}/events HTTP/1.1\r\n"
                             f"Host: 127.0.0.1:{server.port}\r\n\r\n").encode())
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()
        wait_until(lambda: "retry: 2000" in self.lines)

    def read(self):
        try:
            with self.socket.makefile("rb") as answer:
                for line in answer:
                    self.lines.append(line.decode().strip())
        except OSError:
            pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def digest(folder):
    with open(folder.file("t.db"), "rb") as db:
        return hashlib.sha256(db.read()).hexdigest()


def local_addresses(port):
    """Where a port is listened on, as the kernel writes it."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            for line in list(lines)[1:]:
                local, state = line.split()[1], line.split()[3]
                if state == "0A" and int(local.split(":")[1], 16) == port:
                    found.append(local.split(":")[0])
    return found


def beside_a_sweep():
    with Folder() as folder:
        server = Server(folder)
        status, headers, page = server.ask()
        expect_equal((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"), "page")
        expect("t.db is not there yet" in page, "a store that is waited for")
        events = Events(server)
        expect("Content-Type: text/event-stream" in events.lines, f"events: {events.lines}")

        sweep = folder.start("sweep", "sweep.toml", "--db", "t.db", "--progress", "none",
                             env={"APPROXTRAIN_FAKE_STEP_MS": "60"})
        wait_until(lambda: "event: change" in events.lines)
        wait_until(lambda: ">running<" in server.ask("live")[2])
        told = len(events.lines)
        out, err = sweep.communicate(timeout=60)
        expect_equal(sweep.returncode, 0, f"sweep ({err})")
        wait_until(lambda: "event: change" in events.lines[told:])
        wait_until(lambda: "6 of 6 runs done." in server.ask("live")[2])
        expect_equal(server.ask("live")[2].count(">finished</td>"), 6, "rows")
        _, _, filtered = server.ask("live?method=zero&seed=1")
        expect("No run fits" not in filtered and "seed 1" in filtered, "a filter")

        told = len(events.lines)
        before = digest(folder), sorted(os.listdir(folder.path))
        who_gets_what(server)
        expect_equal((digest(folder), sorted(os.listdir(folder.path))), before, "files")
        time.sleep(1.5)
        expect("event: change" not in events.lines[told:], "nothing has changed")
        expect_equal(local_addresses(server.port), ["0100007F"], "the loopback alone")

        code, out, err = folder.run("serve", "--db", "t.db", "--port", str(server.port))
        expect_equal((code, out, err), (2, "", (
            f"approxtrain: --port {server.port}: another program has it; take another one, or "
            "leave --port out\n")), "a port that is taken")

        code, out, err = server.end()
        expect_equal((code, out), (143, ""), f"SIGTERM ({err})")
        expect_equal(err, "approxtrain: t.db is not there yet: waiting for a sweep that makes it\n",
                     "what it says")
        wait_until(lambda: "event: end" in events.lines)


def who_gets_what(server):
    token = server.token
    for path in ("/", "/live", "/events", f"/{token[:-1]}/", f"/{token}0/", f"/{token.upper()}x/"):
        status, _, text = server.ask(path, whole=True)
        expect_equal(status, 403, path)
        expect(token not in text, f"{path}: the token")
    for host in ("", "evil.example", f"evil.example:{server.port}", "127.0.0.1"):
        expect_equal(server.ask(host=host)[0], 403, f"host {host!r}")
    expect_equal(server.ask(host=f"localhost:{server.port}")[0], 200, "localhost")
    for method in ("POST", "PUT", "DELETE"):
        status, headers, _ = server.ask(method=method, body=b"x" * 1000)
        expect_equal((status, headers.get("Allow")), (405, "GET, HEAD"), method)
    expect_equal(server.ask("other")[0], 404, "no such page")
    status, headers, text = server.ask(method="HEAD")
    expect_equal((status, text), (200, ""), "HEAD")
    status, headers, text = server.ask(Accept_Encoding="gzip, br")
    expect(headers.get("Content-Encoding") is None, f"compressed: {headers}")
    status, headers, text = server.ask()
    policy = headers["Content-Security-Policy"]
    expect(policy.startswith("default-src 'none'; script-src 'nonce-"), policy)
    expect(text.endswith("</html>\n"), "a whole page")
    nonce = policy.split("'nonce-")[1].split("'")[0]
    expect(nonce != token and f'<script nonce="{nonce}">' in text, "the script's nonce")
    # What is behind the body of a request is no request.
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as raw:
        inner = f"GET /{token}/live HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
        raw.sendall((f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                     f"Content-Length: {len(inner)}\r\n\r\n{inner}").encode())
        answers = b""
        try:
            while part := raw.recv(1 << 16):
                answers += part
        except ConnectionResetError:
            pass
        expect_equal(answers.count(b"HTTP/1.1 "), 1, f"answers to one request: {answers[:200]}")


def many_pages():
    """Each that is open has a stream; one too many is refused, and the others go on."""
    with Folder() as folder:
        expect_equal(folder.sweep()[0], 0, "sweep")
        server = Server(folder)
        streams = [Events(server) for _ in range(16)]
        expect_equal(server.ask("events")[0], 503, "one too many")
        expect_equal(server.ask("live")[0], 200, "beside sixteen streams")
        streams.pop().close()
        wait_until(lambda: server.ask("events", method="HEAD")[0] == 200)
        # A connection that says nothing does not keep it from ending.
        with socket.create_connection(("127.0.0.1", server.port)):
            code, _, err = server.end(signal.SIGINT)
        expect_equal((code, err), (130, ""), "SIGINT")


def what_is_refused():
    with Folder() as folder:
        code, out, err = folder.run("serve", "--db", "none/t.db")
        expect_equal((code, out), (6, ""), f"no folder ({err})")
        with open(folder.file("text.db"), "w") as text:
            text.write("no database\n" * 100)
        code, _, err = folder.run("serve", "--db", "text.db")
        expect_equal((code, err), (6, (
            "approxtrain: text.db: not an SQLite database; choose another file with --db\n")),
            "no database")
        expect_equal(folder.sweep()[0], 0, "sweep")
        code, _, err = folder.run("serve", "--db", "t.db", "--port", "65536")
        expect_equal((code, err.startswith("approxtrain: --port")), (2, True), f"a port ({err})")

        lock = sqlite3.connect(folder.file("t.db"), isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        waiting = folder.start("serve", "--db", "t.db")
        line = waiting.stderr.readline().decode()
        expect_equal(line, "approxtrain: t.db: waiting for another program's lock\n", "locked")
        waiting.send_signal(signal.SIGTERM)
        out, err = waiting.communicate(timeout=30)
        expect_equal((waiting.returncode, out, err), (143, b"", b""), "stopped while it waits")
        lock.execute("ROLLBACK")
        lock.close()

        folder.change("PRAGMA user_version = 1000")
        code, _, err = folder.run("serve", "--db", "t.db")
        expect_equal(code, 6, f"of a newer program ({err})")
        expect("written by a newer program (schema 1000" in err, err)


beside_a_sweep()
many_pages()
what_is_refused()
finish()
