"""`approxtrain serve` for the tests of it: started, asked, ended."""

import http.client
import signal
import sys


class Server:
    """The program, and the address that it printed."""

    def __init__(self, folder, *arguments, db="t.db"):
        self.process = folder.start("serve", "--db", db, *arguments)
        line = self.process.stdout.readline().decode()
        if not line.startswith("http://127.0.0.1:") or not line.endswith("/\n"):
            sys.exit(f"no address: {line!r} {self.process.communicate()}")
        self.address = line.strip()
        self.port = int(line.split(":")[2].split("/")[0])
        self.token = line.split("/")[3]

    def ask(self, path="", method="GET", whole=False, host=None, body=None, **headers):
        """Status, headers and text of an answer; `whole`: the path has its own token or none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path if whole else f"/{self.token}/{path}", skip_host=True,
                              skip_accept_encoding=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        if body is not None:
            try:
                connection.send(body)
            except OSError:
                pass  # it need not read what it refuses
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out.decode(), err.decode()
