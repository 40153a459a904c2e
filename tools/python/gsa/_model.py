"""A trained model of the command."""

import ctypes
import threading
import warnings
import weakref
from dataclasses import dataclass

from . import _library as L

lib = L.lib
_progress_call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(L._Progress))


@dataclass(frozen=True)
class Prediction:
    """text: what `gsa predict` writes; of tasks with one label: label, probability of each."""
    text: str
    label: str = None
    probability: dict = None


class Model:
    """A model that answers for texts; gsa.load opens one."""

    def __init__(self, folder, plugin=(), threads=1):
        plugins = L.paths("plugin", plugin)
        threads = L.whole("threads", threads, 0, L.THREADS)
        self._state = (folder, plugins, threads)
        paths = (ctypes.c_char_p * max(1, len(plugins)))(*[p.encode() for p in plugins])
        warned = []
        hears = _progress_call(lambda _, p: p[0].kind == 3 and warned.append(p[0].text))
        options = L._ApplyOptions(progress=ctypes.cast(hears, ctypes.c_void_p),
                                  model=L.path("folder", folder), device=b"cpu", threads=threads,
                                  plugins=ctypes.addressof(paths), n_plugins=len(plugins))
        handle = ctypes.c_void_p()
        L.call(lib.gsa_predictor_open, None, ctypes.byref(options), ctypes.byref(handle))
        self._handle, self._lock = handle.value, threading.Lock()
        L.locked[next(L.counter)] = self
        closer = weakref.finalize(self, lib.gsa_predictor_close, self._handle)
        closer.atexit = False  # a daemon thread may still predict
        for sentence in warned:  # that an older model is used
            warnings.warn(sentence.decode("utf-8", "replace"), stacklevel=3)
        self.labels = [lib.gsa_predictor_label(self._handle, i).decode()
                       for i in range(lib.gsa_predictor_labels(self._handle))]

    def __reduce__(self):
        return Model, self._state

    def predict(self, texts):
        """A Prediction for each text; of sentence pairs a text is a pair of strings."""
        if isinstance(texts, (str, bytes)):
            raise L.ArgumentError("predict takes a list of texts, not one text")
        return [self._one(text) for text in L.listed("texts", texts, "texts")]

    def _one(self, text):
        parts = [text] if isinstance(text, (str, bytes)) else L.listed("text", text, "texts")
        array = (ctypes.c_char_p * len(parts))(*[L.text("text", part) for part in parts])
        found = L._Prediction()
        with self._lock:
            L.call(lib.gsa_predictor_texts, self._handle, array, len(parts), ctypes.byref(found))
            lines = ctypes.string_at(found.text, found.bytes).decode("utf-8", "replace")
            lines = lines[:-1] if lines.endswith("\n") else lines
            if found.labels == 0:
                return Prediction(lines)
            probability = dict(zip(self.labels, found.probability[:found.labels]))
            return Prediction(lines, self.labels[found.label], probability)


def load(folder, plugin=(), threads=1):
    """The model that `gsa train --out FOLDER` left."""
    return Model(folder, plugin, threads)
