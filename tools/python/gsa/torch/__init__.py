"""gsa for PyTorch: attend and aggregate with gradients, Encoder, a stack as a module."""

import torch as _torch

if _torch.__version__ < (2, 9):
    raise ImportError(f"gsa.torch needs PyTorch 2.9 or newer, and {_torch.__version__} is here")

from ._checkpoint import load_checkpoint, save_checkpoint
from ._encoder import Encoder, Input, Readout
from ._ops import aggregate, attend

__all__ = ["Encoder", "Input", "Readout", "aggregate", "attend", "load_checkpoint",
           "save_checkpoint"]
