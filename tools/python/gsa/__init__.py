"""gsa: attention patterns are data. docs/python.md is the guide; gsa.torch needs PyTorch."""

from ._library import ArgumentError, Error, FileError, MemoryLack, Unsupported
from ._graph import Graph, Phase, Topology, graph, topology
from ._attend import aggregate, attend
from ._model import Model, Prediction, load

__version__ = "0.1.0"
__all__ = ["ArgumentError", "Error", "FileError", "Graph", "MemoryLack", "Model", "Phase",
           "Prediction", "Topology", "Unsupported", "aggregate", "attend", "graph", "load",
           "topology"]


def __getattr__(name):
    if name == "torch":
        import importlib
        return importlib.import_module("gsa.torch")
    raise AttributeError(f"module 'gsa' has no attribute {name!r}")
