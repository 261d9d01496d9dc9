"""Finds the package and its library in the tree, if no wheel is installed."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

if importlib.util.find_spec("approxtrain") is None:
    sys.path.insert(0, str(ROOT / "python" / "src"))
    os.environ.setdefault("APPROXTRAIN_LIBRARY", str(ROOT / "build/libapproxtrain_operators.so"))


@pytest.fixture(scope="session")
def program() -> str:
    """The approxtrain program, which APPROXTRAIN_PROGRAM names."""
    path = os.environ.get("APPROXTRAIN_PROGRAM", str(ROOT / "build/approxtrain"))
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path}: the program is not built")
    return path
