"""Approximate training in PyTorch: three lines on any model.

    import approxtrain
    approxtrain.apply(model, "stochastic_pruning:p=0.9", schedule="wang2019_s1")
    ...                                  # train on as before
    approxtrain.remove(model)

docs/python.md has the rest.
"""

from ._library import NEEDS_TORCH
from ._apply import apply, remove, set_steps, steps
from ._error import GradientErrors, LayerError, gradient_error
from ._load import Store, load, report
from ._own import method
from ._plans import Channels, NofM, Positions
from ._stats import ProductStats, Stats, stats

__version__ = "0.1.0"
__all__ = ["NEEDS_TORCH", "Channels", "GradientErrors", "LayerError", "NofM", "Positions",
           "ProductStats", "Stats", "Store", "apply", "gradient_error", "load", "method",
           "remove", "report", "set_steps", "stats", "steps"]
