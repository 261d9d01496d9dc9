"""The package itself: versions that must agree, the check at import, the wheel."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import approxtrain
import pytest
from approxtrain import _library

ROOT = Path(__file__).parents[2]


def test_one_version_of_pytorch_is_named():
    pins = [(ROOT / name).read_text() for name in ("scripts/requirements.txt",
                                                   "python/pyproject.toml")]
    found = {version for text in pins for version in re.findall(r"torch==([\d.]+)", text)}
    assert found == {approxtrain.NEEDS_TORCH}


def test_the_version_is_the_programs():
    found = re.search(r"project\(approxtrain VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    named = re.search(r'^version = "(.+)"', (ROOT / "python/pyproject.toml").read_text(), re.M)
    assert found[1] == named[1] == approxtrain.__version__


def test_another_pytorch_is_refused_in_one_line():
    _library.check_torch(approxtrain.NEEDS_TORCH)
    _library.check_torch(approxtrain.NEEDS_TORCH + "+cu130")
    for version in ("2.11.1", "2.1.0", "2.12.0a0+git"):
        with pytest.raises(ImportError, match="needs PyTorch 2.11.0, this is 2.1") as caught:
            _library.check_torch(version)
        assert len(str(caught.value).splitlines()) == 1


def test_a_missing_library_is_refused_in_one_line(monkeypatch):
    monkeypatch.setenv("APPROXTRAIN_LIBRARY", "/nowhere/lib.so")
    with pytest.raises(ImportError, match="APPROXTRAIN_LIBRARY names /nowhere/lib.so: build"):
        _library.library_path()


def torch_in(folder, version):
    """A folder that looks as if pip had installed PyTorch there."""
    (folder / "torch/lib").mkdir(parents=True)
    (folder / "torch/lib/libtorch_cpu.so").touch()
    information = folder / f"torch-{version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\n"
                                          f"Version: {version}\n")
    return folder


def test_the_wheel_is_built_against_an_installed_pytorch(monkeypatch, tmp_path):
    pytest.importorskip("scikit_build_core")
    monkeypatch.syspath_prepend(ROOT / "python")
    import wheel_backend
    needed = approxtrain.NEEDS_TORCH
    other, right = (torch_in(tmp_path / version, version) for version in ("2.10.0",
                                                                          needed + "+cpu"))
    monkeypatch.setattr(sys, "path", [str(ROOT / "python")])
    monkeypatch.setattr(wheel_backend.site, "getusersitepackages", lambda: str(tmp_path / "no"))
    for folders, found in (([], None), ([other], None), ([other, right], right / "torch")):
        monkeypatch.setattr(wheel_backend.site, "getsitepackages",
                            lambda: [str(folder) for folder in folders])
        assert wheel_backend.installed_torch() == found
        assert wheel_backend._requires(None) == ([] if found else [f"torch=={needed}"])
    key = "cmake.define.APPROX_TORCH_DIR"
    assert wheel_backend._with_torch({"a": "b"}) == {key: str(right / "torch"), "a": "b"}
    assert wheel_backend._with_torch({key: "/else"}) == {key: "/else"}


def test_kernels_for_a_gpu_load_without_a_gpu():
    """By the function that opens them for a tensor on a GPU."""
    if not _library.library_path().with_name("libapproxtrain_cuda.so").exists():
        pytest.skip("built without kernels for a GPU")
    program = ("import ctypes, approxtrain._library as package\n"
               "opened = ctypes.CDLL(str(package.library_path()))._ZN6approx17open_cuda_kernelsEv\n"
               "opened.restype = ctypes.c_bool\n"
               "assert opened()\n"
               "assert 'libapproxtrain_cuda.so' in open('/proc/self/maps').read()\n")
    path = os.pathsep.join(filter(None, (str(Path(approxtrain.__file__).parents[1]),
                                         os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0, done.stderr


def test_public_names_have_docstrings_and_types():
    for name in approxtrain.__all__:
        assert getattr(approxtrain, name).__doc__, name
    assert Path(approxtrain.__file__).with_name("py.typed").exists()


@pytest.mark.wheel
def test_a_wheel_is_built_and_works(tmp_path):
    """By scripts/wheel, into an environment that sees this one's PyTorch, nothing of the tree."""
    done = subprocess.run([str(ROOT / "scripts/wheel"), "--out", str(tmp_path)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wheel, = tmp_path.glob("*.whl")
    assert wheel.name.startswith("approxtrain-") and "-py3-none-linux" in wheel.name
    assert f"{wheel.stat().st_size / 1e6:.1f} MB" in done.stdout
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("libapproxtrain_operators.so", "libhwy.so.1", "py.typed", "__init__.py"):
        assert f"approxtrain/{needed}" in names
    target = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                    "--target", str(target), str(wheel)], check=True)
    program = ("import approxtrain, torch; model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3),"
               "torch.nn.Conv2d(4, 4, 3)); approxtrain.apply(model, 'stochastic_pruning');"
               "model(torch.randn(2, 3, 8, 8)).sum().backward(); print(approxtrain.__file__)")
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("APPROXTRAIN", "PYTHON"))}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          cwd=tmp_path, env={**environment, "PYTHONPATH": str(target)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(target))
