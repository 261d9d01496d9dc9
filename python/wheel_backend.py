"""Builds the wheel by scikit-build-core, against a PyTorch that is installed already.

pip builds in an environment of its own and would fetch PyTorch into it once more: 4.9 GB on disk.
If the environment that pip installs into has the right PyTorch, this takes that one.
"""

from __future__ import annotations

import importlib.metadata
import re
import site
import sys
from pathlib import Path
from typing import Optional, Union

from scikit_build_core import build as scikit_build
from scikit_build_core.build import (prepare_metadata_for_build_editable,
                                     prepare_metadata_for_build_wheel)

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
           "get_requires_for_build_sdist", "get_requires_for_build_wheel",
           "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]

Settings = Optional[dict[str, Union[str, list[str]]]]


def needed_torch() -> str:
    """The requirement that the package has: `torch==2.11.0`."""
    text = Path(__file__).with_name("pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^dependencies = \["(torch==[\d.]+)"\]$', text, re.MULTILINE)
    assert found, "pyproject.toml names no PyTorch"
    return found[1]


def installed_torch() -> Optional[Path]:
    """The folder of the right PyTorch, if one is installed.

    pip hides the environment that it installs into: sys.path lacks its folders, and the module
    `site` still knows them.
    """
    version = needed_torch().partition("==")[2]
    folders = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    for found in importlib.metadata.distributions(name="torch", path=folders):
        folder = Path(str(found.locate_file("torch")))
        if found.version.split("+")[0] == version and (folder / "lib/libtorch_cpu.so").is_file():
            return folder
    return None


TORCH_DIR = "cmake.define.APPROX_TORCH_DIR"


def _with_torch(settings: Settings) -> Settings:
    """The settings, and where CMake finds PyTorch unless they say so."""
    folder = installed_torch()
    return settings if folder is None else {TORCH_DIR: str(folder), **(settings or {})}


def _requires(settings: Settings) -> list[str]:
    return [] if TORCH_DIR in (settings or {}) or installed_torch() else [needed_torch()]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return scikit_build.get_requires_for_build_wheel(config_settings) + _requires(config_settings)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return (scikit_build.get_requires_for_build_editable(config_settings)
            + _requires(config_settings))


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return []


def build_wheel(wheel_directory: str, config_settings: Settings = None,
                metadata_directory: Optional[str] = None) -> str:
    return scikit_build.build_wheel(wheel_directory, _with_torch(config_settings),
                                    metadata_directory)


def build_editable(wheel_directory: str, config_settings: Settings = None,
                   metadata_directory: Optional[str] = None) -> str:
    return scikit_build.build_editable(wheel_directory, _with_torch(config_settings),
                                       metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    sys.exit("approxtrain: has no source distribution, since its C++ lies outside python/: build a "
             "wheel by scripts/wheel or python -m build --wheel python")
