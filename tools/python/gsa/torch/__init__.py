"""gsa for PyTorch: attend and aggregate with gradients, Encoder, a stack as a module."""

from ._checkpoint import load_checkpoint, save_checkpoint
from ._encoder import Encoder, Input, Readout
from ._ops import aggregate, attend

__all__ = ["Encoder", "Input", "Readout", "aggregate", "attend", "load_checkpoint",
           "save_checkpoint"]
