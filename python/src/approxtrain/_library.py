"""Opens the library of operators, in the PyTorch that it was built for."""

from __future__ import annotations

import os
from pathlib import Path

import torch

NEEDS_TORCH = "2.11.0"
LIBRARY = "libapproxtrain_operators.so"


def check_torch(version: str) -> None:
    """Raises ImportError if this is not the PyTorch that the library was built for.

    `version` is as torch.__version__ has it, with or without a local part ("2.11.0+cu130").
    """
    if version.split("+")[0] != NEEDS_TORCH:
        raise ImportError(f"approxtrain needs PyTorch {NEEDS_TORCH}, this is {version}: "
                          f"pip install torch=={NEEDS_TORCH}")


def library_path() -> Path:
    """The library: the file that APPROXTRAIN_LIBRARY names, else the one beside this file.

    Raises ImportError if it is not there.
    """
    named = os.environ.get("APPROXTRAIN_LIBRARY", "")
    path = Path(named) if named else Path(__file__).with_name(LIBRARY)
    if not path.is_file():
        where = "APPROXTRAIN_LIBRARY names" if named else "the package lacks"
        raise ImportError(f"approxtrain: {where} {path}: build the wheel by scripts/wheel, or name "
                          f"a {LIBRARY} in APPROXTRAIN_LIBRARY")
    return path.resolve()


def open_library() -> None:
    """Registers the operators in torch.ops.approxtrain, unless they are there already.

    A second copy of the library would end the process.
    """
    check_torch(torch.__version__)
    if hasattr(torch.ops.approxtrain, "layer_conv2d"):
        return
    path = library_path()
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        raise ImportError(f"approxtrain: {path} does not load: {error}") from error


open_library()
ops = torch.ops.approxtrain
