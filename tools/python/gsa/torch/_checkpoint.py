"""Checkpoints of the command: read, checked by their manifest, and written."""

import configparser
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import struct

import numpy as np

from .._library import ArgumentError, FileError, outside_checkpoints

_DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64, "U8": np.uint8}
_MODEL, _MANIFEST = "model.safetensors", "manifest.sha256"
_LINE = re.compile("([0-9a-f]{64})  (?!manifest.sha256$)([a-zA-Z0-9_-][a-zA-Z0-9._-]{0,127})")


def _open(path):
    """A file of a checkpoint: no link, and nothing that is waited for."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as why:
        if why.errno == errno.ELOOP:
            raise FileError(f"'{path}' is no regular file") from None
        raise
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise FileError(f"'{path}' is no regular file")
    return file


def _text(path):
    with _open(path) as file:
        return file.read().decode("utf-8")


def find(folder):
    """The checkpoint that is meant: the folder itself, or the one that `latest` names."""
    folder = os.fspath(folder)
    if os.path.exists(os.path.join(folder, _MANIFEST)):
        return folder
    try:
        step = _text(os.path.join(folder, "latest")).strip()
    except FileError:
        raise
    except OSError as why:
        raise FileError(f"'{folder}' is no folder of checkpoints: {why.strerror}") from None
    if not re.fullmatch("step-[0-9]+", step):
        raise ArgumentError(f"'{folder}/latest' names '{step}', expected step-N")
    return os.path.join(folder, step)


def _sum(path):
    with _open(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sums(folder):
    """Name -> hash; the list's last line, `# N files of step-M`, tells that it is whole."""
    path = os.path.join(folder, _MANIFEST)
    *lines, end = _text(path).splitlines() or [""]
    if not re.fullmatch(f"# {len(lines)} files( of step-[0-9]+)?", end):
        raise ArgumentError(f"'{path}' is cut off: expected '# {len(lines)} files' at the end")
    found = [_LINE.fullmatch(line) for line in lines]
    if None in found:
        raise ArgumentError(f"{path}:{found.index(None) + 1}: expected a hash, two spaces and a "
                            f"file's name")
    return {line[2]: line[1] for line in found}


def _checked(folder, name):
    path, sums = os.path.join(folder, name), _sums(folder)
    if name not in sums:
        raise ArgumentError(f"'{folder}/{_MANIFEST}' has no line for {name}")
    if _sum(path) != sums[name]:
        raise ArgumentError(f"'{path}' is not what the manifest says: it was changed")
    return path


def read_tensors(path):
    """Name -> array of a safetensors file."""
    with _open(path) as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    notes, out = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        kind = np.dtype(_DTYPES[entry["dtype"]]).newbyteorder("<")
        out[name] = np.frombuffer(data[first:last], kind).reshape(entry["shape"]).copy()
    return out, notes


def _write_tensors(path, tensors, notes):
    header, at = {"__metadata__": notes}, 0
    names = {np.dtype(kind): name for name, kind in _DTYPES.items()}
    for name, x in tensors.items():
        header[name] = {"dtype": names[x.dtype], "shape": list(x.shape),
                        "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            file.write(np.ascontiguousarray(x).tobytes())


def load_checkpoint(folder):
    """(config: section -> key -> text, tensors: name -> array) of a trained model."""
    step = find(folder)
    config = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",),
                                       comment_prefixes=("#",))
    config.optionxform = str
    config.read_string(_text(_checked(step, "config.ini")))
    tensors, _ = read_tensors(_checked(step, _MODEL))
    return {section: dict(config[section]) for section in config.sections()}, tensors


def settings_of(config):
    """Encoder's settings, of a config's [model]."""
    m = config["model"]
    whole = {key: int(m[key]) for key in ("hidden", "heads", "head_dim", "ffn")}
    real = {key: float(m[key]) for key in
            ("norm_eps", "dropout_attention", "dropout_hidden", "dropout_ffn")}
    bias = "" if m["bias"] == "none" else m["bias"]
    return {**whole, **real, "activation": m["activation"], "norm": m["norm"], "bias": bias,
            "scale": m["scale"], "readout": m["readout"]}


def save_checkpoint(folder, like, tensors):
    """A new folder with one checkpoint: that of `like`, with these tensors (of PyTorch) in place
    of its own. The command reads it as any other."""
    source, folder = find(like), os.fspath(folder)
    if os.path.lexists(os.path.join(folder, "latest")):
        raise ArgumentError(f"folder '{folder}' holds a run already: choose another")
    old, notes = read_tensors(_checked(source, _MODEL))
    for name, p in tensors.items():
        if name not in old:
            raise ArgumentError(f"'{source}' has no tensor {name}")
        old[name] = np.asarray(p.detach().double().cpu().numpy(), old[name].dtype).reshape(old[name].shape)
    step = os.path.join(folder, "step-1")
    outside_checkpoints(step)
    temporary = step + ".tmp-gsa"
    os.makedirs(temporary)
    names = [n for n in _sums(source) if n not in ("state.safetensors", _MODEL)]
    for name in names:
        with _open(_checked(source, name)) as old_file, \
                open(os.path.join(temporary, name), "xb") as new_file:
            shutil.copyfileobj(old_file, new_file)
    _write_tensors(os.path.join(temporary, _MODEL), old, notes)
    with open(os.path.join(temporary, _MANIFEST), "w", encoding="utf-8") as file:
        for name in [*names, _MODEL]:
            file.write(f"{_sum(os.path.join(temporary, name))}  {name}\n")
        file.write(f"# {len(names) + 1} files of step-1\n")
    os.rename(temporary, step)
    with open(os.path.join(folder, "latest"), "w", encoding="utf-8") as file:
        file.write("step-1\n")
