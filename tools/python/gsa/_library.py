"""The shared library: found, checked, declared. Errors become exceptions with its sentence."""

import ctypes
import itertools
import numbers
import os
import stat
import struct
import weakref

import numpy as np

SONAME = "libgsa.so.0"
INT_MAX, UINT_MAX, THREADS = 2**31 - 1, 2**32 - 1, 4096


class Error(Exception):
    """A failure of the library. str(error) is its one sentence."""


class ArgumentError(Error, ValueError):
    """A value is out of its range, or a name is unknown."""


class MemoryLack(Error, MemoryError):
    """There was no memory."""


class FileError(Error, OSError):
    """The file system said no."""


class Unsupported(Error, NotImplementedError):
    """This build or machine lacks what is asked."""


_KINDS = {1: ArgumentError, 2: MemoryLack, 3: FileError, 4: ArgumentError, 5: ArgumentError,
          6: ArgumentError, 7: Unsupported, 8: ArgumentError}


class _Slice(ctypes.Structure):
    _fields_ = [("at", ctypes.c_char_p), ("bytes", ctypes.c_int64)]


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class _Sequences(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32), ("length", ctypes.c_void_p),
                ("memory_length", ctypes.c_void_p), ("text", ctypes.c_void_p),
                ("group", ctypes.c_void_p), ("memory_group", ctypes.c_void_p),
                ("column", ctypes.c_void_p), ("columns", ctypes.c_int32), ("zero", ctypes.c_int32),
                ("example", ctypes.c_void_p), ("draw", ctypes.c_int64)]


class _Limits(ctypes.Structure):
    _fields_ = [("nodes", ctypes.c_int64), ("edges", ctypes.c_int64), ("runs", ctypes.c_int64)]


class _EdgeList(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("index_bytes", ctypes.c_int32),
                ("rows", ctypes.c_int64), ("sources", ctypes.c_int64), ("count", ctypes.c_int64),
                ("source", ctypes.c_void_p), ("destination", ctypes.c_void_p),
                ("row_offset", ctypes.c_void_p), ("label", ctypes.c_void_p),
                ("labels", ctypes.c_int32), ("examples", ctypes.c_int32),
                ("example_rows", ctypes.c_void_p), ("example_sources", ctypes.c_void_p)]


class _Kind(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("start", ctypes.c_int32),
                ("learned", ctypes.c_int32), ("zero", ctypes.c_int32), ("name", ctypes.c_char_p)]


class _Phase(ctypes.Structure):
    _fields_ = ([("struct_size", ctypes.c_uint32)] +
                [(name, ctypes.c_int32) for name in
                 ("when", "aggregate", "update", "empty", "label_use", "labels", "per_head",
                  "together", "zero")] +
                [("sources", ctypes.c_uint64), ("destinations", ctypes.c_uint64),
                 ("name", ctypes.c_char_p), ("weights", ctypes.c_char_p)])


class _Param(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("zero", ctypes.c_int32),
                ("low", ctypes.c_double), ("high", ctypes.c_double), ("choices", ctypes.c_char_p),
                ("fallback", ctypes.c_char_p), ("doc", ctypes.c_char_p)]


class _Setting(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _PartSpec(ctypes.Structure):
    _fields_ = [("id", ctypes.c_char_p), ("settings", ctypes.POINTER(_Setting)),
                ("n_settings", ctypes.c_int)]


class _SegmentSpec(ctypes.Structure):
    _fields_ = [("parts", ctypes.POINTER(_PartSpec)), ("n_parts", ctypes.c_int),
                ("layers", ctypes.c_int), ("share", ctypes.c_int)]


class _StackSpec(ctypes.Structure):
    _fields_ = [("system", ctypes.c_void_p), ("segments", ctypes.POINTER(_SegmentSpec)),
                ("n_segments", ctypes.c_int)]


class _Parts(ctypes.Structure):
    _fields_ = [("choices", ctypes.c_char_p), ("readers", ctypes.c_uint32)]


class _With(ctypes.Structure):
    _fields_ = [("other", ctypes.c_char_p), ("values", ctypes.c_char_p),
                ("choice", ctypes.c_char_p), ("tasks", ctypes.c_uint32)]


class _Key(ctypes.Structure):
    _fields_ = [("section", ctypes.c_char_p), ("name", ctypes.c_char_p), ("type", ctypes.c_int32),
                ("readers", ctypes.c_uint32), ("low", ctypes.c_double), ("high", ctypes.c_double),
                ("choices", ctypes.c_char_p), ("fallback", ctypes.c_char_p),
                ("doc", ctypes.c_char_p), ("parts", _Parts * 4), ("with", _With * 2)]


class _Topology(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_uint32) for name in
                 ("abi", "struct_size", "param_stride", "n_params")] +
                [(name, ctypes.c_char_p) for name in ("id", "summary", "reference")] +
                [(name, ctypes.c_void_p) for name in
                 ("params", "create", "destroy", "describe", "emit", "label", "extension")])


class _ApplyOptions(ctypes.Structure):
    _fields_ = [("model", ctypes.c_char_p), ("overrides", ctypes.c_void_p),
                ("n_overrides", ctypes.c_int), ("plugins", ctypes.c_void_p),
                ("n_plugins", ctypes.c_int),
                # gsa_plugin_policy
                ("own", ctypes.c_char_p), ("trusts", ctypes.c_void_p), ("mark", ctypes.c_void_p),
                ("other", ctypes.c_int32), ("zero", ctypes.c_int32),
                ("device", ctypes.c_char_p), ("build", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("outcomes", ctypes.c_char_p),
                ("report", ctypes.c_char_p), ("json", ctypes.c_char_p), ("input", ctypes.c_char_p),
                ("output", ctypes.c_char_p), ("texts", ctypes.c_void_p),
                ("n_texts", ctypes.c_int), ("stream", ctypes.c_int), ("top_k", ctypes.c_int32),
                ("all_labels", ctypes.c_int32), ("tokenize", ctypes.c_char_p),
                ("untrusted", ctypes.c_int), ("distrusts", ctypes.c_void_p),
                ("allow_nonfinite", ctypes.c_int),
                ("progress", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("backend", ctypes.c_void_p), ("group", ctypes.c_void_p)]


class _Progress(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_int32) for name in ("kind", "epoch", "epochs")] +
                [(name, ctypes.c_int64) for name in ("step", "steps")] +
                [(name, ctypes.c_double) for name in
                 ("loss", "norm", "lr", "step_ms", "tokens_per_second", "seconds", "remaining")] +
                [("text", ctypes.c_char_p)])


class _Prediction(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("labels", ctypes.c_int32),
                ("label", ctypes.c_int32), ("probability", ctypes.POINTER(ctypes.c_double))]


class _Blob(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("dims", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 4), ("data", ctypes.c_void_p)]


class _Note(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Safetensors(ctypes.Structure):
    _fields_ = [("system", ctypes.c_void_p), ("blobs", ctypes.POINTER(_Blob)),
                ("count", ctypes.c_int), ("notes", ctypes.POINTER(_Note)),
                ("n_notes", ctypes.c_int), ("bytes", ctypes.c_void_p), ("texts", ctypes.c_void_p)]


# gsa_attention (gsa/attend.h), packed at once, which takes a tenth of the time that a ctypes
# structure of as many fields takes.
CALL = struct.Struct("@IiiidPPPPPdIIIiPPPPPPPPPP")

_P, _I, _I64, _D, _S = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_double,
                        ctypes.c_char_p)
_R = ctypes.POINTER
_E = ctypes.c_void_p
_FUNCTIONS = {
    "gsa_registry_create": (_I, [_P, _R(_P), _E]),
    "gsa_registry_load": (_I, [_P, _S, _E]),
    "gsa_registry_release": (None, [_P]),
    "gsa_registry_count": (_I, [_P]),
    "gsa_registry_at": (_R(_Topology), [_P, _I]),
    "gsa_topology_param": (_R(_Param), [_R(_Topology), ctypes.c_uint32]),
    "gsa_spec_parse": (_I, [_P, _S, _R(_StackSpec), _E]),
    "gsa_spec_release": (None, [_R(_StackSpec)]),
    "gsa_recipe_keys": (_R(_Key), [_R(_I)]),
    "gsa_cache_create": (_I, [_P, _I64, _R(_P), _E]),
    "gsa_cache_release": (None, [_P]),
    "gsa_cache_forget": (None, [_P, _P]),
    "gsa_pattern_text": (_S, [_P]),
    "gsa_graph_open": (_I, [_P, _P, _S, _R(_P), _E]),
    "gsa_graph_create": (_I, [_P, _P, _R(_P), _E]),
    "gsa_graph_release": (None, [_P]),
    "gsa_graph_build": (_I, [_P, _P, _R(_Limits), _R(_Sequences), ctypes.c_int32, _E]),
    "gsa_graph_of_edges": (_I, [_P, _R(_EdgeList), _R(_P), _E]),
    "gsa_graph_order": (_P, [_P]),
    "gsa_graph_schema": (_P, [_P]),
    "gsa_graph_pattern": (_P, [_P]),
    "gsa_graph_batch": (_P, [_P]),
    "gsa_graph_rows": (_I64, [_P, _I]),
    "gsa_graph_sources": (_I64, [_P, _I]),
    "gsa_graph_edges": (_I64, [_P, _I]),
    "gsa_graph_list": (_I, [_P, _I, _P, _P, _P, _E]),
    "gsa_graph_write": (_I, [_P, ctypes.c_int32, _P, _S, _E]),
    "gsa_schema_kinds": (_I, [_P]),
    "gsa_schema_phases": (_I, [_P]),
    "gsa_schema_kind": (_R(_Kind), [_P, _I]),
    "gsa_schema_phase": (_R(_Phase), [_P, _I]),
    "gsa_schema_topology": (_S, [_P]),
    "gsa_schema_sequence": (_I, [_P]),
    "gsa_schema_summaries": (_I, [_P]),
    "gsa_schema_summary": (None, [_P, _I, _R(_I), _R(_I), _R(_D)]),
    "gsa_batch_nodes": (_I64, [_P, _I]),
    "gsa_batch_offset": (_P, [_P, _I, _P]),
    "gsa_batch_node_example": (_P, [_P, _I, _P]),
    "gsa_batch_node_local": (_P, [_P, _I, _P]),
    "gsa_batch_empty": (_P, [_P, _I, _P]),
    "gsa_batch_destinations": (_I64, [_P, _I]),
    "gsa_batch_summary": (_P, [_P, _I, _P]),
    "gsa_backend_open": (_I, [_P, _S, _I, _I, _R(_P), _E]),
    "gsa_backend_release": (None, [_P]),
    "gsa_backend_cuda": (_I, [_P, _I, _I, _R(_P), _E]),
    "gsa_cuda_use_stream": (_I, [_P, _P, _E]),
    "gsa_attend_forward": (_I, [_P, _P, _S, _E]),
    "gsa_attend_backward": (_I, [_P, _P, _S, _E]),
    "gsa_aggregate_forward": (_I, [_P, _P, _I, _I, _I64, _P, _P, _E]),
    "gsa_aggregate_backward": (_I, [_P, _P, _I, _I, _I64, _P, _P, _I, _E]),
    "gsa_release": (None, [_P, _P]),
    "gsa_output_write": (None, [_P, _P, _I64]),
    "gsa_output_commit": (_I, [_P, _E]),
    "gsa_output_abandon": (None, [_P]),
    "gsa_safetensors_read": (_I, [_P, _S, _R(_Safetensors), _E]),
    "gsa_safetensors_release": (None, [_R(_Safetensors)]),
    "gsa_safetensors_write": (_I, [_P, _P, _R(_Blob), _I, _R(_Note), _I, _E]),
    "gsa_blob_count": (_I64, [_R(_Blob)]),
    "gsa_blob_check_finite": (_I, [_R(_Blob), _S, _E]),
    "gsa_checkpoint_find": (_I, [_P, _S, _S, _R(_P), _R(_P), _E]),
    "gsa_checkpoint_begin": (_I, [_P, _S, _I64, _R(_P), _E]),
    "gsa_checkpoint_file": (_I, [_P, _S, _R(_P), _E]),
    "gsa_checkpoint_commit": (_I, [_P, _I, _E]),
    "gsa_checkpoint_abandon": (None, [_P]),
    "gsa_predictor_open": (_I, [_P, _R(_ApplyOptions), _R(_P), _E]),
    "gsa_predictor_close": (None, [_P]),
    "gsa_predictor_labels": (ctypes.c_int32, [_P]),
    "gsa_predictor_label": (_S, [_P, ctypes.c_int32]),
    "gsa_predictor_texts": (_I, [_P, _R(_S), _I, _R(_Prediction), _E]),
}


def _find():
    """GSA_LIBRARY names a library to use; else the one of the package, else the system's."""
    named = os.environ.get("GSA_LIBRARY")
    if named:
        return named
    own = os.path.join(os.path.dirname(__file__), "lib", SONAME)
    return own if os.path.exists(own) else SONAME


def _load():
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as why:
        raise ImportError(f"gsa: the shared library could not be loaded: {why}") from None
    missing = [name for name in _FUNCTIONS if not hasattr(library, name)]
    if missing:
        raise ImportError(f"gsa: the library {path} has no {missing[0]}: it is older than this "
                          f"package")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
counter = itertools.count(1)
locked = weakref.WeakValueDictionary()  # graphs and models by number: each has a _lock


def error_room():
    """Room for a sentence, and its address as calls take it."""
    room = _Error()
    return room, ctypes.addressof(room)


def fail(room):
    raise _KINDS.get(room.status, Error)(room.text.decode("utf-8", "replace"))


def call(function, *arguments):
    """Calls a function that takes a gsa_error * last; its failure is an exception."""
    room, at = error_room()
    if function(*arguments, at):
        fail(room)


def text(name, value):
    """A string of the library, which would end at a zero."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is a {type(value).__name__}; a str was expected")
    if "\0" in value:
        raise ArgumentError(f"{value[:99]!r} holds a zero character")
    return utf8(value)


def path(name, value):
    return text(name, os.fspath(value) if isinstance(value, os.PathLike) else value)


def aligned(x, dtype=None):
    """The array as C reads it: its numbers one after the other, each at a multiple of its size."""
    return np.require(np.ascontiguousarray(x, dtype), requirements="CA")


def is_others(folder):
    """1 where neither the process's user nor root owns it, or its owner cannot be seen."""
    try:
        return os.stat(folder).st_uid not in (os.geteuid(), 0)
    except OSError:
        return True


OF_A_RUN = {"asked.ini", "config.ini", "latest", "lock", "log.jsonl", "outcomes.jsonl",
            "recipe.ini", "report.json", "result.json"}


def outside_checkpoints(path):
    """A checkpoint holds nothing else than its manifest lists, and a run needs its files."""
    folder, name = os.path.split(os.path.realpath(path))
    if name in OF_A_RUN and any(_is_there(os.path.join(folder, of)) for of in
                                ("log.jsonl", "latest")):
        raise ArgumentError(f"'{os.fspath(path)}' cannot be written: it is of a run, which needs "
                            f"it")
    text = _beginning(path)
    if text.startswith(b'{"run": "'):
        raise ArgumentError(f"'{os.fspath(path)}' cannot be written: it holds the results of runs")
    run, end, rest = text.partition(b"\n")
    if name == "last" and run and end and not rest and b"/" not in run and b"\0" not in run and \
            _is_there(os.path.join(folder, os.fsdecode(run), "config.ini")):
        raise ArgumentError(f"'{os.fspath(path)}' cannot be written: it says which run was the "
                            f"last")
    while folder != os.path.dirname(folder):
        names = ("manifest.sha256", "model.safetensors", "config.ini")
        if all(map(_is_there, (os.path.join(folder, name) for name in names))):
            raise ArgumentError(f"'{os.fspath(path)}' cannot be written: '{folder}' is a "
                                f"checkpoint, which holds nothing else")
        folder = os.path.dirname(folder)


def _beginning(path):
    """Of a regular file what tells whose it is; b"" where there is none."""
    if not _is_there(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(257)
    except PermissionError:  # may be written, but not read
        return b""
    except OSError as why:
        raise FileError(f"'{path}' cannot be examined: {why}") from None


def _is_there(path):
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as why:
        raise FileError(f"'{path}' cannot be examined: {why}") from None


def paths(name, values):
    """One path, or several, as a list."""
    alone = isinstance(values, (str, bytes, os.PathLike))
    values = [] if values is None else [values] if alone else listed(name, values, "paths")
    return [path(name, value).decode() for value in values]


def listed(name, values, what):
    try:
        return list(values)
    except TypeError:
        raise ArgumentError(f"{name} is a {type(values).__name__}; {what} were expected") from None


def utf8(value):
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{value[:99]!r} is no text of UTF-8") from None


def whole(name, value, least, most):
    """A number as calls take it: ctypes would keep the low bits of one that is too large."""
    if type(value) is not int and not isinstance(value, numbers.Integral) or \
            not least <= value <= most:
        most = f"2^{most.bit_length()}-1" if most in (INT_MAX, UINT_MAX) else most
        raise ArgumentError(f"{name} is {value!r}; a whole number from {least} to {most} was "
                            f"expected")
    return int(value)


def made(function, *arguments):
    """The handle that a function makes, which takes a pointer to it and a gsa_error * last."""
    handle = ctypes.c_void_p()
    call(function, *arguments, ctypes.byref(handle))
    return handle.value
