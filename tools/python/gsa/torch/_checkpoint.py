"""Checkpoints of the command. The library finds, checks, reads and writes them, by its one rule."""

import ctypes
import errno
import functools
import numbers
import os
import re
import stat
import warnings
from contextlib import contextmanager

import numpy as np

from .. import _library as L

lib = L.lib
_DTYPES = [np.dtype(kind) for kind in ("<f4", "<f8", "<i4", "<i8", "u1")]  # as enum gsa_dtype
_MODEL, _STATE, _MANIFEST = "model.safetensors", "state.safetensors", "manifest.sha256"
_INT, _REAL = 0, 1  # as enum gsa_type
_SETTINGS = ("hidden", "heads", "head_dim", "ffn", "norm_eps", "dropout_attention",
             "dropout_hidden", "dropout_ffn", "activation", "norm", "bias", "scale", "readout")
_LONGEST_TEXT = 1 << 24  # of a recipe, as the command reads it
_SECTION = re.compile(r"\[[ \t]*([a-z][a-z0-9_.]*)[ \t]*\]")
_PAIR = re.compile(r"([a-z][a-z0-9_.]*)[ \t]*=[ \t]*(.*)")
_NUMBER = re.compile(r"[-+.0-9a-z]+", re.ASCII | re.IGNORECASE)  # no digits of other scripts, no _
_OF_A_RUN = L.OF_A_RUN | {"curve.svg", _MANIFEST, _MODEL, _STATE}


# ---- reading -----------------------------------------------------------------------------------

def find(folder):
    """The checkpoint that is meant, whole by its manifest: the folder itself, the one that `latest`
    names, or else the newest that is whole, with a warning to the caller of who calls this."""
    step, warning = ctypes.c_void_p(), ctypes.c_void_p()
    L.call(lib.gsa_checkpoint_find, None, L.path("folder", folder), _STATE.encode(),
           ctypes.byref(step), ctypes.byref(warning))
    step, warning = _taken(step), _taken(warning)
    if warning:
        warnings.warn(warning, stacklevel=3)
    return step


def _taken(text):
    """A string that the library gave away."""
    kept = os.fsdecode(ctypes.string_at(text)) if text else None
    lib.gsa_release(None, text)
    return kept


@contextmanager
def _held(step, folder):
    """A descriptor of the folder: what is read through it is of the one that was opened. Only the
    one that the user named may be a link."""
    link = 0 if os.fsdecode(folder) == step else os.O_NOFOLLOW
    try:
        number = os.open(step, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC |
                         link)
    except OSError as why:
        raise L.FileError(f"'{step}' cannot be read: {why.strerror}") from None
    try:
        yield number
    finally:
        os.close(number)


def _open(path, folder=None):
    """A file of a checkpoint, which is held: no link, and nothing that is waited for."""
    try:
        number = os.open(path if folder is None else os.path.basename(path),
                         os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                         dir_fd=folder)
    except OSError as why:
        if why.errno == errno.ELOOP:
            raise L.FileError(f"'{path}' is no regular file") from None
        raise L.FileError(f"'{path}' cannot be read: {why.strerror}") from None
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise L.FileError(f"'{path}' is no regular file")
    return file


def _text(path, folder=None):
    with _open(path, folder) as file:
        text = file.read(_LONGEST_TEXT + 1)
    if len(text) > _LONGEST_TEXT:
        raise L.ArgumentError(f"'{path}' has more than {_LONGEST_TEXT} bytes")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise L.ArgumentError(f"'{path}' is no text of UTF-8") from None


def _read(path, folder, found):
    """By the descriptor of a regular file: the library waits for a FIFO that has its name."""
    with _open(path, folder) as file:
        name = f"/proc/self/fd/{file.fileno()}"
        if not os.path.exists(name):
            name = path
        try:
            L.call(lib.gsa_safetensors_read, None, L.path("path", name), ctypes.byref(found))
        except L.Error as why:
            raise type(why)(str(why).replace(name, path)) from None


def read_tensors(path, folder=None):
    """(name -> array, key -> note) of a safetensors file, whose numbers are finite."""
    found = L._Safetensors()
    _read(path, folder, found)
    try:
        out = {}
        for blob in found.blobs[:found.count]:
            L.call(lib.gsa_blob_check_finite, ctypes.byref(blob), os.fsencode(path))
            kind = _DTYPES[blob.dtype]
            data = ctypes.string_at(blob.data, lib.gsa_blob_count(ctypes.byref(blob)) *
                                    kind.itemsize) if blob.data else b""
            name, shape = blob.name.decode(), blob.shape[:blob.dims]
            try:
                out[name] = np.frombuffer(data, kind).reshape(shape).copy()
            except ValueError:  # no number, in more rows than an array has
                raise L.ArgumentError(f"'{path}': tensor {name} has shape {shape}, which no array "
                                      f"has") from None
        return out, {note.key.decode(): note.value.decode()
                     for note in found.notes[:found.n_notes]}
    finally:
        lib.gsa_safetensors_release(ctypes.byref(found))


def _config(path, folder):
    """section -> key -> text, as the library reads it, in a time that grows with the text alone."""
    config, section = {}, None
    for line in _text(path, folder).split("\n"):
        line = line.strip(" \t\r")
        if not line or line[0] in "#;":
            continue
        name, pair = _SECTION.fullmatch(line), _PAIR.fullmatch(line)
        if name and name[1] not in config:
            section = config[name[1]] = {}
        elif pair and section is not None and pair[1] not in section:
            section[pair[1]] = pair[2]
        else:  # the line itself would show the file's content
            raise L.ArgumentError(f"'{path}' is no recipe")
    return config


def read_step(step, folder):
    """(config, tensors, whether they are another user's) of what `find` found in the folder: all
    of one, whatever has its name meanwhile."""
    with _held(step, folder) as held:
        config = _config(os.path.join(step, "config.ini"), held)
        tensors, _ = read_tensors(os.path.join(step, _MODEL), held)
        return config, tensors, L.is_others(held)


def load_checkpoint(folder):
    """(config: section -> key -> text, tensors: name -> array) of a trained model."""
    return read_step(find(folder), folder)[:2]


@functools.cache
def _keys():
    """Facts of the recipe's keys of [model], by name."""
    count = ctypes.c_int()
    keys = lib.gsa_recipe_keys(ctypes.byref(count))
    return {key.name.decode(): key for key in keys[:count.value] if key.section == b"model"}


def check_setting(name, value, where=""):
    """A value of [model] is what a recipe may have."""
    key = _keys()[name]
    if key.type in (_INT, _REAL):
        if not isinstance(value, numbers.Real) or not key.low <= value <= key.high:
            raise L.ArgumentError(f"{where}{name} is {value!r}; a number from {key.low:g} to "
                                  f"{key.high:g} was expected")
    elif key.choices and value not in key.choices.decode().split(","):
        raise L.ArgumentError(f"{where}{name} is {value!r}; one of {key.choices.decode()} was "
                              f"expected")


def setting(config, name):
    """The value of a key of [model]; where an older version wrote none, the default."""
    key = _keys()[name]
    text = value = config.get("model", {}).get(name, key.fallback.decode())
    try:
        if key.type in (_INT, _REAL) and not _NUMBER.fullmatch(text):
            raise ValueError
        value = {_INT: int, _REAL: float}.get(key.type, str)(text)
    except ValueError:
        value = text[:99]
    check_setting(name, value, "the checkpoint's config.ini: ")
    return value


def settings_of(config):
    """Encoder's settings, of a config's [model]."""
    found = {name: setting(config, name) for name in _SETTINGS}
    return {**found, "bias": "" if found["bias"] == "none" else found["bias"]}


def shape_of(p):
    """As checkpoints have it: matrices, of which a vector is one row."""
    return (1, *p.shape) if p.dim() == 1 else tuple(p.shape)


# ---- writing -----------------------------------------------------------------------------------

def save_checkpoint(folder, like, tensors):
    """A new folder with one checkpoint: that of `like`, with these tensors (of PyTorch) in place
    of its own. The command reads it as any other. A folder that holds anything of a run or of a
    checkpoint is refused, as are numbers that are not finite in the type of the checkpoint; then
    nothing is made."""
    save_step(folder, find(like), tensors)


def save_step(folder, source, tensors):
    folder = os.fsdecode(L.path("folder", folder))
    L.outside_checkpoints(os.path.join(folder, "step-1"))
    _check_new(folder)
    whole, notes = read_tensors(os.path.join(source, _MODEL))
    for name, p in tensors.items():
        if name not in whole:
            raise L.ArgumentError(f"'{source}' has no tensor {name}")
        if shape_of(p) != whole[name].shape:
            raise L.ArgumentError(f"{name} has shape {shape_of(p)}; {whole[name].shape} was "
                                  f"expected")
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = p.detach().double().cpu().numpy().astype(whole[name].dtype)
        whole[name] = numbers.reshape(whole[name].shape)
    blobs = _blobs(whole)
    for blob in blobs:
        L.call(lib.gsa_blob_check_finite, ctypes.byref(blob), os.fsencode(folder))
    names = [line[66:] for line in _text(os.path.join(source, _MANIFEST)).splitlines()[:-1]]
    with _checkpoint(folder) as checkpoint:
        for name in names:
            if name not in (_MODEL, _STATE):
                with _output(checkpoint, name) as output, \
                        _open(os.path.join(source, name)) as file:
                    while part := file.read(1 << 20):
                        lib.gsa_output_write(output, part, len(part))
        with _output(checkpoint, _MODEL) as output:
            pairs = (L._Note * len(notes))(*[(key.encode(), value.encode())
                                             for key, value in notes.items()])
            L.call(lib.gsa_safetensors_write, None, output, blobs, len(blobs), pairs, len(pairs))


def _check_new(folder):
    """What a killed save left, step-N.tmp-gsa, the library takes away."""
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as why:
        raise L.FileError(f"'{folder}' cannot be listed: {why.strerror}") from None
    for name in names:
        if name in _OF_A_RUN or name.startswith("step-") and ".tmp-gsa" not in name:
            raise L.ArgumentError(f"folder '{folder}' holds a run already ('{name}'): choose "
                                  f"another")


def _blobs(tensors):
    """gsa_blob of each, and of their memory, which lives as long."""
    made = (L._Blob * len(tensors))()
    made.kept = [(name.encode(), np.ascontiguousarray(x)) for name, x in tensors.items()]
    for blob, (name, x) in zip(made, made.kept):
        blob.name, blob.dtype, blob.dims = name, _DTYPES.index(x.dtype), x.ndim
        blob.shape[:x.ndim], blob.data = x.shape, x.ctypes.data
    return made


@contextmanager
def _checkpoint(folder):
    """step-1 of the folder, in place once all is written; else nothing stays of it."""
    stood = os.path.lexists(folder)
    checkpoint = L.made(lib.gsa_checkpoint_begin, None, os.fsencode(folder), 1)
    try:
        yield checkpoint
    except BaseException:
        lib.gsa_checkpoint_abandon(checkpoint)
        if not stood:
            _remove_empty(folder)
        raise
    L.call(lib.gsa_checkpoint_commit, checkpoint, 1)


def _remove_empty(folder):
    try:
        os.rmdir(folder)
    except OSError:  # somebody put a file there
        pass


@contextmanager
def _output(checkpoint, name):
    """A file of the checkpoint, whole or not at all."""
    output = L.made(lib.gsa_checkpoint_file, checkpoint, name.encode())
    try:
        yield output
    except BaseException:
        lib.gsa_output_abandon(output)
        raise
    L.call(lib.gsa_output_commit, output)
