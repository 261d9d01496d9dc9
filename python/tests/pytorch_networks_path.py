"""scripts/pytorch_networks.py, for tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from pytorch_networks import resnet20, wang_cnn2  # noqa: E402, F401
