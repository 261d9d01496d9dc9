"""What a disk has when its power is cut: a folder's changes in their order, as fault_shim.cpp
writes them down, and what may be left of them.

A file has what it had when it was last synchronised, and any part of what was written since. A
write may be torn at sectors. The names in a folder are those of when the folder was last
synchronised, and any part of what was created, renamed and removed since. No order is kept. File
systems keep more, but POSIX promises no more.
"""

import dataclasses
import os
import shutil

SECTOR = 512  # bytes that a disk writes whole or not at all


@dataclasses.dataclass
class Change:
    kind: str
    said: int  # bytes that the program had printed before
    inode: int
    number: int
    data: bytes
    of_folder: bool = False  # set by Disk.apply, of a sync

    def paths(self):
        return [os.fsdecode(path) for path in self.data.split(b"\0")]

    def __str__(self):
        at = f" at {self.number}, {len(self.data)} bytes" if self.kind == "write" else ""
        name = "" if self.kind in ("write", "size") else " " + " ".join(self.paths())
        return f"{self.kind}{name}{at}"


def read_trace(path):
    changes = []
    with open(path, "rb") as trace:
        while head := trace.readline():
            kind, said, inode, number, length = head.split()
            changes.append(Change(kind.decode(), int(said), int(inode), int(number),
                                  trace.read(int(length))))
    return changes


class File:
    def __init__(self, data=b""):
        self.synced = data
        self.pending = []  # (offset, bytes), or (size, None)

    def content(self):
        data = bytearray(self.synced)
        for at, written in self.pending:
            change(data, at, written)
        return bytes(data)

    def sync(self):
        self.synced, self.pending = self.content(), []

    def left(self, cut):
        data = bytearray(self.synced)
        for at, written in self.pending:
            if written is None:
                if cut.keeps():
                    change(data, at, None)
                continue
            if not cut.tears():
                if cut.keeps():
                    change(data, at, written)
                continue
            end = at + len(written)
            while at < end:
                stop = min(end, at - at % SECTOR + SECTOR)
                if cut.keeps():
                    change(data, at, written[:stop - at])
                at, written = stop, written[stop - at:]
            # The file has grown, and what was to be there is not.
            if cut.keeps():
                data.extend(bytes(max(0, end - len(data))))
        return bytes(data)


def change(data, at, written):
    """Of a file: bytes written at an offset, or (None) the size that it has now."""
    if written is None:
        del data[at:]
        data.extend(bytes(at - len(data)))
        return
    data.extend(bytes(max(0, at - len(data))))
    data[at:at + len(written)] = written


class Names:
    """A folder: what is in it, by name."""

    def __init__(self):
        self.synced = {}
        self.pending = []  # (name that is gone or None, name that is new or None, what it names)

    def now(self):
        return self.apply(lambda: True)

    def apply(self, keeps):
        names = dict(self.synced)
        for gone, new, what in self.pending:
            if not keeps():
                continue
            if gone is not None and names.get(gone) is what:
                del names[gone]
            if new is not None:
                names[new] = what
        return names

    def sync(self):
        self.synced, self.pending = self.now(), []

    def left(self, cut):
        return self.apply(cut.keeps)


class Cut:
    """Of what was not synchronised this share is kept, and this share of writes is torn."""

    def __init__(self, rng, kept, torn):
        self.rng, self.kept, self.torn = rng, kept, torn

    @classmethod
    def draw(cls, rng):
        return cls(rng, *rng.choice([(0, 0), (0.2, 0), (0.5, 0), (0.8, 0), (0.5, 0.5), (1, 0),
                                     (0.8, 0.5)]))

    def keeps(self):
        return self.rng.random() < self.kept

    def tears(self):
        return self.rng.random() < self.torn

    def __str__(self):
        return f"{self.kept:.0%} kept, {self.torn:.0%} torn"


class Disk:
    """A folder as it is now, all of which is on the disk, and what is changed in it later."""

    def __init__(self, folder):
        self.folder = folder
        self.by_inode = {}
        self.root = self.read(folder)

    def read(self, path):
        if os.path.isdir(path):
            node = Names()
            node.synced = {name: self.read(os.path.join(path, name)) for name in os.listdir(path)}
        else:
            with open(path, "rb") as file:
                node = File(file.read())
        self.by_inode[os.stat(path).st_ino] = node
        return node

    def place(self, path):
        """The folder that a path is in, and its name there."""
        *folders, name = os.path.relpath(path, self.folder).split(os.sep)
        node = self.root
        for folder in folders:
            node = node.now()[folder]
        return node, name

    def apply(self, change):
        if change.kind in ("create", "mkdir"):
            folder, name = self.place(change.paths()[0])
            node = File() if change.kind == "create" else Names()
            self.by_inode[change.inode] = node
            folder.pending.append((None, name, node))
        elif change.kind == "write":
            self.by_inode[change.inode].pending.append((change.number, change.data))
        elif change.kind == "size":
            self.by_inode[change.inode].pending.append((change.number, None))
        elif change.kind == "sync":
            node = self.by_inode[change.inode]
            change.of_folder = isinstance(node, Names)
            node.sync()
        elif change.kind == "rename":
            (folder, gone), (same, new) = map(self.place, change.paths())
            if folder is not same:
                raise NotImplementedError(f"from a folder to another: {change}")
            folder.pending.append((gone, new, folder.now()[gone]))
        elif change.kind == "remove":
            folder, name = self.place(change.paths()[0])
            folder.pending.append((name, None, folder.now()[name]))

    def tree(self, names_of, content_of):
        """Each file's content and (None) each folder, by path."""
        found = {}

        def walk(node, path):
            if isinstance(node, File):
                found[path] = content_of(node)
                return
            found[path] = None
            for name, child in names_of(node).items():
                walk(child, os.path.join(path, name))

        walk(self.root, self.folder)
        return found

    def now(self):
        return self.tree(Names.now, File.content)

    def left(self, cut):
        """What may be there after a power cut. A file of two names has one content."""
        contents = {}

        def content_of(node):
            if id(node) not in contents:
                contents[id(node)] = node.left(cut)
            return contents[id(node)]

        return self.tree(lambda node: node.left(cut), content_of)


def restore(folder, tree):
    """Replaces what is in the folder."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    for path, content in tree.items():  # a folder is before what is in it
        if content is None:
            os.makedirs(path, exist_ok=True)
        else:
            with open(path, "wb") as file:
                file.write(content)
