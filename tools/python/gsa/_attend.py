"""Attention and sums over a graph: calls on addresses, and the NumPy door."""

import collections
import functools
import math
import os
import struct
import threading

import numpy as np

from . import _graph
from . import _library as L
from ._graph import graph_of  # noqa: F401  (for gsa.torch)

lib = L.lib
_pack = functools.partial(L.CALL.pack, L.CALL.size)
forward, backward = lib.gsa_attend_forward, lib.gsa_attend_backward
# (double, threads): backends that nobody uses now, each with room for its sentence
_pool = collections.defaultdict(list)


def packed(*members):
    """A gsa_attention: its members in order, but struct_size."""
    try:
        return _pack(*members)
    except struct.error:
        raise L.ArgumentError(f"{members[1]} heads of {members[2]} numbers; at most {L.INT_MAX} of "
                              f"either were expected") from None


class _Backend:
    def __init__(self, double, threads):
        self.handle = L.made(lib.gsa_backend_open, None, b"cpu", int(double), threads)
        self.room, self.at = L.error_room()


class _Device:
    """The CUDA backend of one device; its calls are queued one after the other."""
    opened = {}

    def __init__(self, double, index):
        self.handle = L.made(lib.gsa_backend_cuda, None, int(double), index)
        self.room, self.at = L.error_room()


def _run_on_device(double, index, stream, graph, function, arguments):
    with _graph.device_lock, graph._lock:
        while _graph.device_left:
            lib.gsa_graph_release(_graph.device_left.pop())
        graph._check()
        graph._on_device[:] = [True]
        device = _Device.opened.get((double, index))
        if device is None:
            device = _Device.opened[double, index] = _Device(double, index)
        status = lib.gsa_cuda_use_stream(device.handle, stream, device.at) or \
            function(device.handle, graph._handle, *arguments, device.at)
        if status:
            L.fail(device.room)


_held = []  # locks, while the process is copied: no call is under way then


def _hold():
    _graph.device_lock.acquire()  # so that one thread at a time is here
    _held.append(_graph.device_lock)
    for ref in L.locked.valuerefs():  # one step: other threads make graphs meanwhile
        user = ref()
        if user is not None:
            user._lock.acquire()
            _held.append(user._lock)


def _let_go():
    while _held:
        _held.pop().release()


def _forget():
    """A child of fork has none of the threads and no use of the devices."""
    _let_go()
    _pool.clear()
    _Device.opened.clear()
    for user in L.locked.values():
        user._lock = threading.Lock()  # of one that was made meanwhile, too
    for topology in _graph.topologies:
        topology.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_forget)


def run(double, where, graph, function, *arguments):
    """function(backend, graph, *arguments, error). where: so many threads of a backend of its own,
    or the number of a CUDA device and a stream of it, on which the call is queued."""
    if type(where) is tuple:
        return _run_on_device(double, *where, graph, function, arguments)
    free = _pool[double, where]
    try:
        backend = free.pop()
    except IndexError:
        backend = _Backend(double, where)
    try:
        with graph._lock:
            handle = graph._handle
            if handle is None:
                graph._check()
            status = function(backend.handle, handle, *arguments, backend.at)
        if status:
            L.fail(backend.room)
    finally:
        if len(free) < 4:
            free.append(backend)
        else:
            lib.gsa_backend_release(backend.handle)


def settled(dropout, scale, seed):
    """Numbers that are told of here, so that the sentence has the caller's names."""
    share = _real(dropout)
    if not 0 <= share < 1:
        raise L.ArgumentError(f"dropout is {dropout!r}; a number from 0, and below 1, was expected")
    factor = factor_of(scale)
    L.whole("seed", seed, 0, L.UINT_MAX)
    return share, factor


def factor_of(scale):
    """As the library takes it: 0 for None."""
    factor = 0.0 if scale is None else _real(scale)
    if not math.isfinite(factor) or factor == 0 and scale is not None:
        raise L.ArgumentError(f"scale is {scale!r}; a finite number other than 0 was expected")
    return factor


def _real(value):
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # a tensor's is RuntimeError
        return math.nan


def _threads(threads):
    return L.whole("threads", 0 if threads is None else threads, 0, L.THREADS) or \
        os.cpu_count() or 1


def check_shape(name, shape, wanted, what):
    if tuple(shape) != wanted:
        raise L.ArgumentError(f"{name} has shape {tuple(shape)}; {what} was expected: {wanted}")


def check_shapes(p, q, k, v, r, b):
    """Shapes of any arrays against the phase; returns heads and dim."""
    if len(q) != 3:
        raise L.ArgumentError(f"q has shape {tuple(q)}; [rows, heads, dim] was expected")
    rows, heads, dim = q
    if rows != p.rows:
        raise L.ArgumentError(f"q has {rows} rows; phase {p.name} of the graph has {p.rows}")
    check_shape("k", k, (p.sources, heads, dim), "[sources, heads, dim]")
    check_shape("v", v, (p.sources, heads, dim), "[sources, heads, dim]")
    if r is not None:
        check_shape("label_vectors", r, (p.labels, dim), "[labels, dim]")
    if b is not None:
        check_shape("label_bias", b, (p.labels, heads), "[labels, heads]")
    if heads < 1 or dim < 1:
        raise L.ArgumentError(f"q has {heads} heads of {dim} columns; each is at least 1")
    return heads, dim


def _numpy(name, x, dtype):
    if x is None and name.startswith("label"):
        return None
    x = np.asarray(x)
    if x.dtype != dtype or dtype not in (np.float32, np.float64):
        raise L.ArgumentError(f"{name} is {x.dtype}; all arrays must be float32, or all float64")
    return L.aligned(x)


def _at(x):
    return 0 if x is None else x.ctypes.data


def attend(q, k, v, graph, phase=None, *, label_vectors=None, label_bias=None, scale=None,
           dropout=0.0, seed=0, threads=None, weights=False):
    """Attention over the graph's edges, of NumPy arrays q [rows, heads, dim], k and v [sources,
    heads, dim]. Returns out, or (out, weights [edges, heads]), by a kernel whose last bits may
    differ. gsa.torch.attend has gradients."""
    p = graph._find(phase)
    dtype = np.asarray(q).dtype
    named = zip(("q", "k", "v", "label_vectors", "label_bias"),
                (q, k, v, label_vectors, label_bias))
    q, k, v, r, b = (_numpy(name, x, dtype) for name, x in named)
    dropout, scale = settled(dropout, scale, seed)
    heads, dim = check_shapes(p, q.shape, k.shape, v.shape, None if r is None else r.shape,
                              None if b is None else b.shape)
    out, lse = np.empty_like(q), np.empty((p.rows, heads), dtype)
    w = np.empty((p.edges, heads), dtype) if weights else None
    run(dtype == np.float64, _threads(threads), graph, forward,
        packed(p.index, heads, dim, scale, _at(q), _at(k), _at(v), _at(r), _at(b), dropout, seed,
               0, 0, 0, 0, _at(out), _at(lse), _at(w), 0, 0, 0, 0, 0, 0))
    return (out, w) if weights else out


def _columns(p, v):
    if v.ndim != 2 or v.shape[0] != p.sources or v.shape[1] < 1:
        raise L.ArgumentError(f"v has shape {tuple(v.shape)}; [{p.sources}, columns] was expected")
    return v.shape[1]


def aggregate(v, graph, phase=None, *, mean=False, threads=None):
    """The sum, or the mean, of v [sources, columns] over the edges of each row."""
    p = graph._find(phase)
    v = _numpy("v", v, np.asarray(v).dtype)
    columns = _columns(p, v)
    out = np.empty((p.rows, columns), v.dtype)
    run(v.dtype == np.float64, _threads(threads), graph, lib.gsa_aggregate_forward,
        p.index, int(mean), columns, _at(v), _at(out))
    return out
