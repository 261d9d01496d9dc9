"""`data import` of hostile archives: each is refused in one line, nothing appears outside of the
data folder and nothing stays in it, and a million entries take neither memory nor minutes."""

import gzip
import io
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time

from program import PROGRAM, expect, expect_equal, finish

FOLDER = "train/n01440764"  # of a class that the data set has
IMAGE = FOLDER + "/a.jpg"
ENTRIES = 1_000_000
MOST_MEMORY_MB = 512  # of the program, whatever an archive asks for
MOST_SECONDS = 120  # it takes a few


def entry(name, content=b"x", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def archive(*entries, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, content in entries:
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def with_records(**records):
    return archive(entry(IMAGE, pax_headers=records))


def of_kind(kind):
    return archive(entry(f"{FOLDER}/l", b"", type=kind, linkname="/etc/passwd"))


# What is wrong with it, what the refusal says, and its bytes.
HOSTILE = [
    ("a path upwards", '".." in its path', archive(entry("../evil.jpg"))),
    ("a path upwards in the middle", '".." in its path', archive(entry("train/../../evil.jpg"))),
    ("an absolute path", "an absolute path", archive(entry("/tmp/evil.jpg"))),
    ("a backslash", "a backslash in its path", archive(entry("..\\evil.jpg"))),
    ("a path of PAX", '".." in its path', with_records(path="../../evil.jpg")),
    ("an absolute path of PAX", "an absolute path", with_records(path="/tmp/evil.jpg")),
    ("a link of PAX", "a symbolic link",
     archive(entry("a", b"", type=tarfile.SYMTYPE, linkname="b",
                   pax_headers={"linkpath": "/etc/passwd"}))),
    ("a size of PAX below 0", "negative", with_records(size="-5")),
    ("a size of PAX beyond the file", "999999999999 bytes", with_records(size="999999999999")),
    ("a sparse file", "a sparse file", with_records(**{
        "GNU.sparse.size": "100", "GNU.sparse.numblocks": "1", "GNU.sparse.map": "0,1"})),
    ("a name twice", "occurs twice", archive(entry(IMAGE), entry(IMAGE))),
    ("a name twice in two spellings", "occurs twice",
     archive(entry(IMAGE), entry(IMAGE.replace("/", "/./")))),
    ("a name that is no ASCII", "expected a tar archive",
     archive(entry(f"{FOLDER}/caf\u00e9.jpg"))),
    ("a control character", "printable ASCII", archive(entry(f"{FOLDER}/a\x01.jpg"))),
    ("a name without end", "at most 255 bytes", archive(entry(f"{FOLDER}/{'n' * 5000}"))),
    ("half of an archive", "Truncated", archive(entry(IMAGE, bytes(4000)))[:1500]),
    ("no archive", "expected a tar archive", b"this is no archive\n" * 100),
    ("nothing", "expected a", b""),
    ("a symbolic link", "a symbolic link", of_kind(tarfile.SYMTYPE)),
    ("a hard link", "a hard link", of_kind(tarfile.LNKTYPE)),
    ("a character device", "neither a file nor a folder", of_kind(tarfile.CHRTYPE)),
    ("a block device", "neither a file nor a folder", of_kind(tarfile.BLKTYPE)),
    ("a pipe", "neither a file nor a folder", of_kind(tarfile.FIFOTYPE)),
    ("a bomb", "209715200 bytes", archive(entry(IMAGE, bytes(200 << 20)))),
]


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def imported(folder, path):
    """(exit code, what it says, the files that are new) in an empty folder that is all the program
    is told of: its data, its temporary files, its home."""
    env = {**os.environ, "HOME": folder, "TMPDIR": folder, "XDG_DATA_HOME": folder}
    before = files_in(folder)
    done = subprocess.run([PROGRAM, "data", "import", "imagenette224", path, "--data-dir", "data"],
                          cwd=folder, env=env, capture_output=True, text=True, check=False,
                          timeout=MOST_SECONDS)
    return done.returncode, done.stderr, sorted(set(files_in(folder)) - set(before))


def refused():
    for what, reason, content in HOSTILE:
        for name, packed in ("x.tar", content), ("x.tar.gz", gzip.compress(content, 1)):
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, name), "wb") as out:
                    out.write(packed)
                code, err, new = imported(folder, name)
                expect_equal(code, 5, f"{what}, {name}: exit code ({err!r})")
                expect_equal(err.count("\n"), 1, f"{what}, {name}: {err!r}")
                expect(f"{name}: " in err and reason in err, f"{what}, {name}: {err!r}")
                expect_equal(new, [], f"{what}, {name}: new files")
    expect(not os.path.exists("/tmp/evil.jpg"), "a file outside of the folder")


def a_million_entries():
    """Files without content, written without the overhead of tarfile."""
    header = bytearray(tarfile.TarInfo("notes/0000000.txt").tobuf(tarfile.USTAR_FORMAT))
    rest = sum(header) - sum(header[148:156]) + 8 * ord(" ") - sum(header[6:13])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "many.tar.gz")
        with gzip.open(path, "wb", compresslevel=1) as out:
            for first in range(0, ENTRIES, 10_000):
                piece = bytearray()
                for number in range(first, first + 10_000):
                    digits = b"%07d" % number
                    header[6:13] = digits
                    header[148:156] = b"%06o\0 " % (rest + sum(digits))
                    piece += header
                out.write(piece)
            out.write(bytes(1024))
        before = time.monotonic()
        code, err, new = imported(folder, "many.tar.gz")
        print(f"{ENTRIES} entries: {time.monotonic() - before:.1f} s, {err.strip()}")
        expect_equal(code, 5, f"a million entries: {err!r}")
        expect_equal(new, [], "a million entries: new files")
    # The largest of all programs that were waited for.
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"at most {most:.0f} MB")
    expect(most < MOST_MEMORY_MB, f"{most:.0f} MB of memory")


def main():
    refused()
    a_million_entries()
    finish()


if __name__ == "__main__":
    sys.exit(main())
