"""Methods of one file, for the program: `approxtrain sweep --python my.py`.

The program starts this file by its path, with a socket as descriptor 3 and memory that both share
as descriptor 4 (core/python/interpreter.h). Each request and each answer is a line of JSON. The
first request is the file's text, and its answer describes the methods. Each further request calls a
method with the gradient that lies in the shared memory. The result takes its place there.

The package's library of operators is not opened. `import approxtrain` in the file gets `method`,
`Channels`, `Positions` and `NofM`, in any PyTorch.
"""

import io
import json
import math
import mmap
import os
import platform
import signal
import sys
import traceback
import types

SOCKET, MEMORY = 3, 4
FOLDER = os.path.dirname(os.path.abspath(__file__))
# What the whole package has besides. A file may name it, but a worker has no model.
OF_MODELS = ("apply", "gradient_error", "load", "remove", "report", "set_steps", "stats", "steps")


def make_package():
    """`approxtrain` without the library of operators; returns its module of methods."""
    package = types.ModuleType("approxtrain")
    package.__path__ = [FOLDER]
    sys.modules["approxtrain"] = package
    from approxtrain import _own, _plans
    package.method = _own.method
    for name in ("Channels", "NofM", "Positions"):
        setattr(package, name, getattr(_plans, name))

    def refusing(name):
        def refused(*_, **__):
            raise RuntimeError(f"approxtrain.{name} is not for a file given to --python: put it "
                               'under if __name__ == "__main__":')
        return refused
    for name in OF_MODELS:
        setattr(package, name, refusing(name))
    return _own


def last_line(error, path):
    """An exception as one line, with the line of the file that raised it."""
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == path]
    return f"{text} (line {lines[-1]})" if lines else text


def raised_in(error, module):
    """Whether the code of `module` raised the exception itself."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename == module.__file__


def check_defaults(method):
    """Refuses defaults that a method's text cannot hold."""
    for key, value in method.defaults.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{method.name}: the default of {key} is not finite")
        if isinstance(value, str) and (value != value.strip() or set(value) & set(",=:") or
                                       not value):
            raise ValueError(f"{method.name}: the default of {key} is empty, or has a comma, a "
                             "colon, = or a space at an end")


def summary_of(function):
    return (function.__doc__ or "a method in Python").strip().splitlines()[0]


class Worker:
    def __init__(self):
        self.memory = None

    def begin(self, request):
        """Executes the file; returns what it declares."""
        self.path = request["path"]
        import torch
        self.torch = torch
        torch.set_num_threads(request["threads"])
        self.own = make_package()
        sys.path[0] = os.path.dirname(os.path.abspath(self.path))  # as if it were run
        module = types.ModuleType("approxtrain_methods")
        module.__file__ = self.path
        sys.modules["approxtrain_methods"] = module
        exec(compile(request["text"], self.path, "exec"), module.__dict__)
        from approxtrain._text import product_names
        self.methods = self.own._registered
        for method in self.methods.values():
            check_defaults(method)
        return {"python": platform.python_version(), "pytorch": torch.__version__,
                "methods": [{"name": method.name, "summary": summary_of(method.function),
                             "products": product_names(method.products),
                             "params": list(method.defaults.items())}
                            for method in self.methods.values()]}

    def gradient(self, request):
        """The gradient in the shared memory, as a tensor over that memory."""
        torch, sizes = self.torch, request["sizes"]
        kind = getattr(torch, request["type"])
        entries = 1
        for size in sizes:
            entries *= size
        needed = entries * torch.empty((), dtype=kind).element_size()
        if self.memory is None or len(self.memory) < needed:
            self.memory = mmap.mmap(MEMORY, os.fstat(MEMORY).st_size)
        if entries == 0:
            return torch.empty(sizes, dtype=kind)
        flat = torch.frombuffer(self.memory, dtype=kind, count=entries)
        if not request["channels_last"]:
            return flat.view(sizes)
        images, channels, height, width = sizes
        return flat.view(images, height, width, channels).permute(0, 3, 1, 2)

    def call(self, request):
        """Puts the method's result in the place of the gradient."""
        name = request["method"].partition(":")[0]
        dy = self.gradient(request)
        try:
            pruned = self.methods[name].pruned(dy, request["method"], request["seed"])
        except Exception as error:
            if raised_in(error, self.own):
                return {"error": str(error).splitlines()[0]}
            traceback.print_exc()
            return {"error": f"{name}: {last_line(error, self.path)}"}
        if pruned is not dy:
            # A view of dy may overlap the place that it is written to.
            shares = pruned.untyped_storage().data_ptr() == dy.untyped_storage().data_ptr()
            dy.copy_(pruned.clone() if shares else pruned)
        return {}

    def answer(self, request):
        if "text" not in request:
            return self.call(request)
        try:
            return self.begin(request)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                traceback.print_exc()
                return {"error": last_line(error, self.path)}
            return {"error": f"{sys.executable} has no PyTorch: install it there, or name another "
                             "interpreter by --python-executable"}
        except Exception as error:
            if not isinstance(error, SyntaxError):
                traceback.print_exc()
            return {"error": last_line(error, self.path)}


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program ends this process
    worker = Worker()
    with os.fdopen(SOCKET, "rb", buffering=0) as socket, os.fdopen(os.dup(SOCKET), "wb") as out:
        for line in io.BufferedReader(socket):
            out.write(json.dumps(worker.answer(json.loads(line))).encode() + b"\n")
            out.flush()


if __name__ == "__main__":
    main()
