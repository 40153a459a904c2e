"""attend and aggregate on tensors: an autograd function for eager calls, operators of
torch.library for torch.compile. Both make the same calls of the library."""

import contextlib

import torch
from torch._guards import detect_fake_mode
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils._python_dispatch import _disable_current_modes

from .. import _attend as A
from .._graph import Graph, graph_of
from .._library import ArgumentError, Unsupported

_REALS, _HALVES = (torch.float32, torch.float64), (torch.float16, torch.bfloat16)
_TYPES = {torch.Tensor, torch.nn.Parameter}  # others may have no memory of their own
_transforms, _modes, _traced = (torch._C._are_functorch_transforms_active,
                                torch._C._len_torch_dispatch_stack, torch._C._is_tracing)


def _check_tensor(name, x, like, device):
    if not isinstance(x, torch.Tensor):
        raise ArgumentError(f"{name} is a {type(x).__name__}; a torch.Tensor was expected")
    if x.device.type not in ("cpu", "cuda"):
        raise Unsupported(f"{name} is on {x.device}; cpu or cuda was expected")
    if x.device != device:
        raise ArgumentError(f"{name} is on {x.device}, and q on {device}; one was expected")
    if x.layout is not torch.strided or x.is_nested:
        layout = "nested" if x.is_nested else x.layout
        raise ArgumentError(f"{name} has layout {layout}; torch.strided was expected")
    if x.dtype != like or like not in _REALS:
        raise ArgumentError(f"{name} is {x.dtype}; all tensors must be float32, or all float64")


def _run(x, graph, function, *arguments):
    """The call on tensors that stand where x does: by torch's threads, or on its current stream."""
    double = x.dtype is torch.float64
    if x.is_cpu:
        return A.run(double, torch.get_num_threads(), graph, function, *arguments)
    index = x.get_device()
    where = index, torch._C._cuda_getCurrentRawStream(index)
    if index == torch.cuda.current_device():
        return A.run(double, where, graph, function, *arguments)
    with torch.cuda.device(index):  # the library makes its device current
        return A.run(double, where, graph, function, *arguments)


def _whole(name, x):
    """The tensor with its numbers in one piece, none of them negated by a view, each at a multiple
    of its size."""
    last = sum((n - 1) * step for n, step in zip(x.shape, x.stride()))
    if x.numel() and not _held(x, last):
        raise ArgumentError(f"{name} has a storage of {x.untyped_storage().nbytes()} bytes, which "
                            f"is too short: it was resized")
    x = x.resolve_neg().contiguous()
    return x.clone() if x.data_ptr() % x.element_size() else x


def _forward(call, keep, q, k, v, r, b):
    """Contiguous tensors -> out, lse, weights or None. keep False: nobody reads lse."""
    graph, p, scale, dropout, seed, weights = call
    rows, heads, dim = q.shape
    out = torch.empty_like(q)
    if keep or not q.is_cpu:  # a storage takes half the time of a tensor
        lse = torch.UntypedStorage(q.itemsize * rows * heads) if q.is_cpu else \
            q.new_empty(rows, heads)
        lse_at = lse.data_ptr()
    else:
        lse, lse_at = graph._spare(8 * rows * heads)
    w = q.new_empty(p.edges, heads) if weights else None
    _run(q, graph, A.forward,
         A.packed(p.index, heads, dim, scale, q.data_ptr(), k.data_ptr(), v.data_ptr(),
                  0 if r is None else r.data_ptr(), 0 if b is None else b.data_ptr(), dropout,
                  seed, 0, 0, 0, 0, out.data_ptr(), lse_at, 0 if w is None else w.data_ptr(),
                  0, 0, 0, 0, 0, 0))
    return out, lse, w


def _tensor_of(lse, out):
    """lse as operators take it."""
    if isinstance(lse, torch.Tensor):
        return lse
    with _disable_current_modes():
        return torch.empty(0, dtype=out.dtype, device=lse.device).set_(lse, 0, out.shape[:2])


def _backward(call, lse, dout, wanted, q, k, v, r, b, out):
    """The gradients of q, k, v, r and b that are wanted."""
    graph, p, scale, dropout, seed, _ = call
    shape, dtype, empty = q.shape, q.dtype, torch.empty_like
    if not (out.shape == dout.shape == shape and out.dtype is dtype and dout.dtype is dtype):
        raise ArgumentError("backward: q or the output is not what forward had")
    if not _simple(out):
        out = _whole("the output", out)
    try:
        if not _simple(dout):
            dout = _whole("the gradient", dout)
        dout_at = dout.data_ptr()
    except RuntimeError:
        raise Unsupported("backward: the gradient has no memory of its own: is_grads_batched and "
                          "vmap are not offered") from None
    dq = empty(q) if wanted[0] else None
    dk = empty(k) if wanted[1] else None
    dv = empty(v) if wanted[2] else None
    dr = empty(r) if r is not None and wanted[3] else None
    db = empty(b) if b is not None and wanted[4] else None
    _run(q, graph, A.backward,
         A.packed(p.index, shape[1], shape[2], scale, q.data_ptr(), k.data_ptr(), v.data_ptr(),
                  0 if r is None else r.data_ptr(), 0 if b is None else b.data_ptr(), dropout,
                  seed, 0, 0, 0, 0, out.data_ptr(), lse.data_ptr(), 0, dout_at,
                  0 if dq is None else dq.data_ptr(), 0 if dk is None else dk.data_ptr(),
                  0 if dv is None else dv.data_ptr(), 0 if dr is None else dr.data_ptr(),
                  0 if db is None else db.data_ptr()))
    return dq, dk, dv, dr, db, None


class _Attend(torch.autograd.Function):
    """call: graph, phase, scale, dropout, seed, weights. r, b: None where there is none."""

    @staticmethod
    def forward(ctx, q, k, v, r, b, call):
        out, lse, w = _forward(call, True, q, k, v, r, b)
        ctx.save_for_backward(q, k, v, r, b, out)
        ctx.call = call, lse
        if w is None:
            return out
        ctx.mark_non_differentiable(w)
        return out, w

    @staticmethod
    def backward(ctx, dout, *_):
        if torch.is_grad_enabled():  # create_graph=True; gradients of a constant depend on q, too
            return _Attend._once(ctx, dout if dout.requires_grad else
                                 dout.detach().requires_grad_())
        q, k, v, r, b, out = ctx.saved_tensors
        call, lse = ctx.call
        p = call[1]
        if _modes() or _traced() or type(dout) not in _TYPES:
            graph, p, scale, dropout, seed, _ = call
            drawn = torch.full((1,), seed, dtype=torch.int64)
            d = iter(_attend_backward_op(dout, q, k, v, r, b, out, _tensor_of(lse, out), drawn,
                                         graph.number, p.index, scale, dropout))
            return (*(None if x is None else next(d) for x in (q, k, v, r, b)), None)
        # What was saved may be another tensor by now: x.data = y, hooks of saved tensors.
        if r is not None or b is not None or not _plain(p, q, k, v):
            q, k, v, r, b = _checked(p, q, k, v, r, b)
        return _backward(call, lse, dout, ctx.needs_input_grad, q, k, v, r, b, out)

    _once = staticmethod(once_differentiable(lambda ctx, dout: _Attend.backward(ctx, dout)))


# ---- operators ---------------------------------------------------------------------------------

# The library's calls are no part of a CUDA graph (mode="reduce-overhead"): it is cut around them.
_TAGS = torch.Tag.cudagraph_unsafe,


@torch.library.custom_op("gsa::attend", mutates_args=(), device_types=("cpu", "cuda"),
                         tags=_TAGS)
def _attend_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, r: torch.Tensor | None,
               b: torch.Tensor | None, seed: torch.Tensor, graph: int, phase: int, scale: float,
               dropout: float) -> tuple[torch.Tensor, torch.Tensor]:
    g = graph_of(graph)
    p, drawn = g._find(phase), int(seed)
    dropout, scale = A.settled(dropout, scale or None, drawn)
    q, k, v, r, b = _checked(p, q, k, v, r, b)
    out, lse, _ = _forward((g, p, scale, dropout, drawn, False), True, q, k, v, r, b)
    return out, _tensor_of(lse, out)


@_attend_op.register_fake
def _(q, k, v, r, b, seed, graph, phase, scale, dropout):
    return q.new_empty(q.shape), q.new_empty(q.shape[:2])


@torch.library.custom_op("gsa::attend_backward", mutates_args=(), device_types=("cpu", "cuda"),
                         tags=_TAGS)
def _attend_backward_op(dout: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                        r: torch.Tensor | None, b: torch.Tensor | None, out: torch.Tensor,
                        lse: torch.Tensor, seed: torch.Tensor, graph: int, phase: int,
                        scale: float, dropout: float) -> list[torch.Tensor]:
    g = graph_of(graph)
    p, drawn = g._find(phase), int(seed)
    dropout, scale = A.settled(dropout, scale or None, drawn)
    q, k, v, r, b = _checked(p, q, k, v, r, b)
    if lse.shape != q.shape[:2] or lse.dtype != q.dtype:
        raise ArgumentError(f"lse is {lse.dtype} of shape {tuple(lse.shape)}; {q.dtype} of shape "
                            f"{tuple(q.shape[:2])} was expected")
    d = _backward((g, p, scale, dropout, drawn, False), _whole("lse", lse), dout, 5 * (True,),
                  q, k, v, r, b, _whole("out", out))
    return [x for x in d if x is not None]


@_attend_backward_op.register_fake
def _(dout, q, k, v, r, b, out, lse, seed, graph, phase, scale, dropout):
    return [x.new_empty(x.shape) for x in (q, k, v, r, b) if x is not None]


def _setup(ctx, inputs, output):
    q, k, v, r, b, seed, graph, phase, scale, dropout = inputs
    ctx.save_for_backward(q, k, v, r, b, *output, seed)
    ctx.call = graph, phase, scale, dropout


def _attend_op_backward(ctx, dout, _):
    q, k, v, r, b, out, lse, seed = ctx.saved_tensors
    d = iter(_attend_backward_op(dout, q, k, v, r, b, out, lse, seed, *ctx.call))
    return (*(None if x is None else next(d) for x in (q, k, v, r, b)), None, None, None, None,
            None)


_attend_op.register_autograd(_attend_op_backward, setup_context=_setup)


# ---- the doors ---------------------------------------------------------------------------------

def attend(q, k, v, graph, phase=None, *, label_vectors=None, label_bias=None, scale=None,
           dropout=0.0, seed=None, weights=False):
    """Attention over the edges of a graph.

    q [rows, heads, dim]; k, v [sources, heads, dim], the rows and sources of the phase (None: the
    one that attends). label_vectors [labels, dim] are added to the keys of edges with that label,
    label_bias [labels, heads] to their scores. scale None: 1/sqrt(dim). dropout drops weights; its
    mask is drawn by `seed`, or by one of torch's own generator. Returns out [rows, heads, dim];
    with weights=True also the weights [edges, heads], which have no gradient, by a kernel whose
    last bits may differ.

    Tensors are used where they stand if they are contiguous. torch.set_num_threads says how many
    threads compute; the bits do not depend on it.
    """
    p = _phase_of(graph, phase)
    r, b = label_vectors, label_bias
    if torch.compiler.is_compiling() or _followed(q, k, v, r, b):
        return _by_operator(q, k, v, r, b, graph, p, scale, dropout, seed, weights)
    if r is None and b is None and type(dropout) is float and dropout == 0 and seed is None and \
            _plain(p, q, k, v):
        scale, seed = A.factor_of(scale), 0
    elif any(_dispatches(x) for x in (q, k, v, r, b)):
        with detect_fake_mode((q, k, v, r, b)) or contextlib.nullcontext():
            return _by_operator(q, k, v, r, b, graph, p, scale, dropout, seed, weights)
    else:
        q, k, v, r, b = _widened(q, k, v, r, b)
        dropout, scale = A.settled(dropout, scale, 0 if seed is None else seed)
        q, k, v, r, b = _checked(p, q, k, v, r, b)
        if seed is None:
            seed = int(torch.randint(2**32, ())) if dropout > 0 else 0
    call = graph, p, scale, dropout, seed, weights
    if torch.is_grad_enabled():
        if q.requires_grad or k.requires_grad or v.requires_grad or \
                r is not None and r.requires_grad or b is not None and b.requires_grad:
            return _Attend.apply(q, k, v, r, b, call)
    out, _, w = _forward(call, False, q, k, v, r, b)
    return (out, w) if weights else out


def _phase_of(graph, phase):
    if not isinstance(graph, Graph):
        raise ArgumentError(f"graph is a {type(graph).__name__}; a gsa.Graph was expected")
    if phase is None and len(graph._attends) == 1:
        return graph._attends[0]
    return graph._find(phase)


def _plain(p, q, k, v):
    """The usual call, told by as few questions as will do; what is not it is looked at closely."""
    try:
        rows, heads, dim = q.shape
        dtype = q.dtype
        return (rows == p.rows and k.shape == v.shape == (p.sources, heads, dim) and heads > 0 and
                dim > 0 and dtype in _REALS and k.dtype is dtype and v.dtype is dtype and
                (q.is_cpu and k.is_cpu and v.is_cpu or
                 q.is_cuda and k.device == v.device == q.device) and
                _simple(q) and _simple(k) and _simple(v))
    except (AttributeError, ValueError, RuntimeError):
        return False


def _simple(x):
    """Do its numbers stand in memory as they are, one after the other?"""
    return type(x) in _TYPES and x.is_contiguous() and not x.is_neg() and \
        (x.untyped_storage().nbytes() == x.nbytes or _held(x))


def _held(x, last=None):
    """Does its storage, which may have been resized, hold its numbers?"""
    last = x.numel() - 1 if last is None else last
    return (x.storage_offset() + last + 1) * x.itemsize <= x.untyped_storage().nbytes()


def _dispatches(x):
    """Is it a tensor whose class answers for operators: a fake one, a DTensor?"""
    return isinstance(x, torch.Tensor) and type(x) not in _TYPES and \
        torch._C._dispatch_keys(x).has(torch._C.DispatchKey.Python)


def _widened(*tensors):
    """Under autocast, half precision becomes float32."""
    return [x.float() if isinstance(x, torch.Tensor) and x.dtype in _HALVES and
            torch.is_autocast_enabled(x.device.type) else x for x in tensors]


def _fit(p, q, k, v, r, b):
    """The tensors by their names, or the sentence that says why they do not fit the phase."""
    dtype = getattr(q, "dtype", None)
    named = (("q", q), ("k", k), ("v", v), ("label_vectors", r), ("label_bias", b))
    for name, x in named:
        if x is not None or name in "qkv":
            _check_tensor(name, x, dtype, getattr(q, "device", None))
    A.check_shapes(p, q.shape, k.shape, v.shape, None if r is None else r.shape,
                   None if b is None else b.shape)
    return named


def _checked(*arguments):
    """Contiguous tensors that fit the phase."""
    return [None if x is None else _whole(name, x) for name, x in _fit(*arguments)]


def _followed(*tensors):
    """Does a trace, or a mode of torch's, look on that sees operators alone?"""
    if _transforms() or forward_ad._current_level >= 0 and any(
            isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None
            for x in tensors):
        raise Unsupported("torch.func (grad, vmap, jvp) and forward gradients are not offered; "
                          "torch.autograd.grad is")
    return _modes() or _traced()


def _by_operator(q, k, v, r, b, graph, p, scale, dropout, seed, weights):
    if weights:
        raise Unsupported("weights=True is for eager calls, not under torch.compile or a trace")
    dropout, scale = A.settled(dropout, scale, 0 if seed is None else seed)
    q, k, v, r, b = _widened(q, k, v, r, b)
    _fit(p, q, k, v, r, b)
    drawn = torch.randint(2**32, (1,)) if seed is None and dropout > 0 \
        else torch.full((1,), seed or 0, dtype=torch.int64)
    return _attend_op(q, k, v, r, b, drawn, graph.number, p.index, scale, dropout)[0]


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v, graph, p, mean):
        out = v.new_empty((p.rows, v.shape[1]))
        _run(v, graph, A.lib.gsa_aggregate_forward, p.index, mean, v.shape[1],
              v.data_ptr(), out.data_ptr())
        ctx.call = graph, p, mean
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, dout):
        graph, p, mean = ctx.call
        _untraced(dout)
        dout = _whole("the gradient", dout)
        dv = dout.new_empty((p.sources, dout.shape[1]))
        _run(dout, graph, A.lib.gsa_aggregate_backward, p.index, mean, dout.shape[1],
             dout.data_ptr(), dv.data_ptr(), 0)
        return dv, None, None, None


@torch.compiler.disable
def aggregate(v, graph, phase=None, *, mean=False):
    """The sum, or the mean, of v [sources, columns] over the edges of each row [rows, columns]."""
    p = _phase_of(graph, phase)
    v, = _widened(v)
    _check_tensor("v", v, getattr(v, "dtype", None), getattr(v, "device", None))
    A._columns(p, v)
    _followed(v)  # its own refusals
    _untraced(v)
    return _Aggregate.apply(_whole("v", v), graph, p, int(mean))


def _untraced(x):
    """Modes that only look on, such as FlopCounterMode, may."""
    if _traced() or get_proxy_mode() or detect_fake_mode(x) or _dispatches(x):
        raise Unsupported("aggregate is no operator of torch: no trace can hold it, and it takes "
                          "no fake tensor")
