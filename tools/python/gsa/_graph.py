"""Topologies, and graphs: the edges of a batch of examples."""

import contextlib
import ctypes
import itertools
import os
import threading
import weakref

import numpy as np

from . import _library as L

lib = L.lib
AGGREGATES = ("attend", "sum", "mean", "none")
UPDATES = ("sublayer", "ffn", "relu_norm", "norm", "linear", "assign")
STARTS = ("input", "copy", "mean_input", "zero", "by_phase", "memory")
LABEL_USES = ("names", "key_vectors", "head_bias")
POOLS = ("mean", "max", "node")
_PATH = 4  # gsa_type

topologies = weakref.WeakSet()


def graph_of(number):
    """A compiled call holds a graph by its number."""
    graph = L.locked.get(number)
    if not isinstance(graph, Graph):
        raise L.ArgumentError(f"graph {number} is gone: it was made before, and nothing holds it")
    return graph


def _copied(at, dtype, count):
    """An array of the library's numbers; none: empty."""
    if not at or count == 0:
        return np.empty(0, dtype)
    kind = np.ctypeslib.as_ctypes_type(np.dtype(dtype))
    return np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(kind)), (count,)).copy()


class Kind:
    """A kind of nodes, as the schema has it."""

    def __init__(self, index, kind):
        self.index, self.name = index, kind.name.decode()
        self.start, self.learned = STARTS[kind.start], kind.learned


class Schema:
    """Kinds, phases and readout of a pattern."""

    def __init__(self, handle):
        self.topology = lib.gsa_schema_topology(handle).decode()
        self.kinds = [Kind(k, lib.gsa_schema_kind(handle, k).contents)
                      for k in range(lib.gsa_schema_kinds(handle))]
        self.phases = [PhaseSchema(p, lib.gsa_schema_phase(handle, p).contents, len(self.kinds))
                       for p in range(lib.gsa_schema_phases(handle))]
        self.sequence = lib.gsa_schema_sequence(handle)
        self.summary = []
        for i in range(lib.gsa_schema_summaries(handle)):
            kind, pool, weight = ctypes.c_int(), ctypes.c_int(), ctypes.c_double()
            lib.gsa_schema_summary(handle, i, ctypes.byref(kind), ctypes.byref(pool),
                                   ctypes.byref(weight))
            self.summary.append((kind.value, POOLS[pool.value], weight.value))


class PhaseSchema:
    """A phase, as the schema has it."""

    def __init__(self, index, phase, kinds):
        self.index, self.name = index, phase.name.decode()
        self.once, self.aggregate = bool(phase.when), AGGREGATES[phase.aggregate]
        self.update, self.keeps_empty = UPDATES[phase.update], phase.empty == 2
        self.label_use, self.labels = LABEL_USES[phase.label_use], phase.labels
        self.per_head, self.together = bool(phase.per_head), bool(phase.together)
        self.sources = [k for k in range(kinds) if phase.sources >> k & 1]
        self.destinations = [k for k in range(kinds) if phase.destinations >> k & 1]
        self.weights = phase.weights.decode() if phase.weights else None


def _registry(plugins):
    made = L.made(lib.gsa_registry_create, None)
    try:
        for path in plugins:
            L.call(lib.gsa_registry_load, made, path.encode())
    except BaseException:
        lib.gsa_registry_release(made)
        raise
    return made


def path_keys(plugin):
    """The parameters of any topology that are paths."""
    registry = _registry(L.paths("plugin", plugin))
    known = [lib.gsa_registry_at(registry, i) for i in range(lib.gsa_registry_count(registry))]
    params = [lib.gsa_topology_param(t, i)[0] for t in known for i in range(t[0].n_params)]
    keys = {p.name.decode() for p in params if p.type == _PATH}
    lib.gsa_registry_release(registry)
    return keys


def stack(spec):
    """[(parts, layers, shared)] of a stack's text, as the library reads it, which has the limits.
    A part is (topology, [(key, value)])."""
    found = L._StackSpec()
    L.call(lib.gsa_spec_parse, None, L.text("spec", spec), ctypes.byref(found))
    try:
        return [([_part_of(p) for p in segment.parts[:segment.n_parts]], segment.layers,
                 segment.share == 1) for segment in found.segments[:found.n_segments]]
    finally:
        lib.gsa_spec_release(ctypes.byref(found))


def _part_of(part):
    return part.id.decode(), [(s.key.decode(), s.value.decode())
                              for s in part.settings[:part.n_settings]]


class Topology:
    """A pattern with its parameters: gsa.topology makes one."""

    def __init__(self, spec, plugin=None, cache_bytes=64 << 20):
        self._state = (spec, L.paths("plugin", plugin), cache_bytes)
        try:
            self.folder = os.getcwd()  # of the paths in its spec
        except OSError:  # it was removed
            self.folder = ""
        self._registry = _registry(self._state[1])
        releases = [(lib.gsa_registry_release, self._registry)]
        try:
            self._first = L.made(lib.gsa_graph_open, None, self._registry, L.text("spec", spec))
            releases.insert(0, (lib.gsa_graph_release, self._first))
            self._cache = L.made(lib.gsa_cache_create, None, cache_bytes)
            releases.insert(0, (lib.gsa_cache_release, self._cache))
        except BaseException:
            _release_all(releases)
            raise
        self._pattern = lib.gsa_graph_pattern(self._first)
        self.spec = lib.gsa_pattern_text(self._pattern).decode()
        self.schema = Schema(lib.gsa_graph_schema(self._first))
        self._releases = releases
        topologies.add(self)
        weakref.finalize(self, _release_all, releases).atexit = False  # as of a graph

    def renew(self):
        """In a child of fork: a thread that is not there may hold the lock of the cache."""
        self._cache = L.made(lib.gsa_cache_create, None, self._state[2])
        self._releases[0] = lib.gsa_cache_release, self._cache

    def __reduce__(self):
        return Topology, self._state

    def __repr__(self):
        return f"gsa.topology({self.spec!r})"

    def graph(self, lengths, *, text=None, memory=None, heads=1):
        """The edges of a batch: `lengths` of its examples, or one length.

        text: the tokens of each example, for patterns that read them; memory: lengths of the
        memory, for patterns that read one; heads: for per-head phases.
        An example has at most 2^25 nodes, those read and those written, and 2^26 runs of edges.
        """
        return Graph._of_topology(self, lengths, text, memory, heads)


def _release_all(releases):
    for release, handle in releases:
        release(handle)


def topology(spec, plugin=None):
    """A pattern by its spec, as "bpt:k=4:causal=1"; plugin: path, or paths, of shared objects."""
    return Topology(spec, plugin)


def int_list(values, what):
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise L.ArgumentError(f"{what}: whole numbers in one dimension were expected, not "
                              f"{array.dtype} of shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() > 2**31 - 1):
        raise L.ArgumentError(f"{what}: {array.min()} .. {array.max()} is not in 0 .. 2^31-1")
    return np.array(array, np.int32, order="C")  # a graph's own: the caller may change his


def _lists(text):
    """Lists of one's own: the caller may fill his with the next batch."""
    return [L.listed("text", e, "tokens") for e in L.listed("text", text, "lists of tokens")]


def _text(text, lengths):
    """The tokens of all examples as gsa_slice, and what must live as long."""
    for token in itertools.chain(*text):
        if not isinstance(token, str):
            raise L.ArgumentError(f"text: {token!r} is a {type(token).__name__}; tokens are str")
    tokens = [L.utf8(token) for example in text for token in example]
    counts = [len(example) for example in text]
    lengths = [int(n) for n in lengths]
    if counts != lengths:
        raise L.ArgumentError(f"text: examples of {counts} tokens, lengths are {lengths}")
    return (L._Slice * max(1, len(tokens)))(*[(t, len(t)) for t in tokens])


device_lock = threading.Lock()  # held by calls on CUDA backends: a graph's copies are theirs
device_left = []  # graphs whose release found it held


def _release(handle, on_device):
    """A finalizer may run within a call, on the thread that holds the lock: it does not wait."""
    if not on_device:
        lib.gsa_graph_release(handle)
    elif device_lock.acquire(blocking=False):
        lib.gsa_graph_release(handle)
        device_lock.release()
    else:
        device_left.append(handle)


_key = object()  # who has it holds a handle of the library


class Graph:
    """The edges of a batch, immutable. Topology.graph and gsa.graph make one."""

    def __init__(self, key, handle=None, remake=None, keep=None):
        if key is not _key:
            raise L.ArgumentError("gsa.graph or gsa.topology(SPEC).graph makes a Graph")
        self._handle, self._remake, self._keep, self._text = handle, remake, keep, None
        self._lock = threading.Lock()
        self._room = np.empty(0, np.uint8), 0
        self._batch = lib.gsa_graph_batch(handle)
        self.schema = keep.schema if keep is not None else Schema(lib.gsa_graph_schema(handle))
        # Phases that users get hold their graph; these do not, or none would ever be released.
        self._phases = [_PhaseFacts(handle, s) for s in self.schema.phases]
        self._attends = [p for p in self._phases if p.schema.aggregate == "attend"]
        self.number = next(L.counter)
        L.locked[self.number] = self
        self._on_device = []  # not empty: a CUDA backend has copies
        self._finalizer = weakref.finalize(self, _release, handle, self._on_device)
        self._finalizer.atexit = False  # a daemon thread may still read it

    @classmethod
    def _of_topology(cls, t, lengths, text, memory, heads):
        length = int_list(lengths, "lengths")
        memory_length = None if memory is None else int_list(memory, "memory")
        if memory is not None and len(memory_length) != len(length):
            raise L.ArgumentError(f"memory: {len(memory_length)} lengths of {len(length)} examples")
        text = None if text is None else _lists(text)
        slices = None if text is None else _text(text, length)
        heads = L.whole("heads", heads, 1, 4096)  # as the command
        limits = L._Limits(nodes=2**25, runs=2**26)  # the C library's own would take minutes
        handle = L.made(lib.gsa_graph_create, None, t._pattern)
        sequences = L._Sequences(
            count=len(length), length=length.ctypes.data,
            memory_length=None if memory is None else memory_length.ctypes.data,
            text=None if slices is None else ctypes.addressof(slices))
        try:
            L.call(lib.gsa_graph_build, handle, t._cache, ctypes.byref(limits),
                   ctypes.byref(sequences), heads)
        except BaseException:
            lib.gsa_graph_release(handle)
            raise
        graph = cls(_key, handle, (_remake_pattern, (t, length, text, memory, heads)), t)
        graph._lengths, graph._text, graph.heads = length, text, heads
        return graph

    def __reduce__(self):
        self._check()
        if self._remake is None:
            return _remake_edges, self._edge_arguments()
        return self._remake

    def _check(self):
        if self._handle is None:
            raise L.ArgumentError("the graph was closed")

    def _spare(self, size):
        """Room for what no call reads, and its address: calls write it under the lock."""
        room = self._room
        if room[0].nbytes < size:
            array = np.empty(size, np.uint8)
            room = self._room = array, array.ctypes.data
        return room

    @contextlib.contextmanager
    def _held(self):
        """The handle, which nobody else uses or closes meanwhile."""
        with self._lock:
            self._check()
            yield self._handle

    def close(self):
        """Releases the edges now; a later use is an error."""
        with self._lock:
            self._finalizer()
            self._handle = self._batch = None

    @property
    def examples(self):
        return len(self._lengths)

    @property
    def lengths(self):
        return self._lengths.copy()

    @property
    def text(self):
        """The tokens of each example, or None."""
        return None if self._text is None else [list(tokens) for tokens in self._text]

    @property
    def phases(self):
        return [Phase(self, p) for p in self._phases]

    def phase(self, name=None):
        """The phase of that name or number; None: the one that attends."""
        return Phase(self, self._find(name))

    def _find(self, name):
        if name is None and len(self._attends) == 1:
            return self._attends[0]
        if type(name) is int and 0 <= name < len(self._phases):
            return self._phases[name]
        if isinstance(name, Phase):
            if name.graph is not self:
                raise L.ArgumentError(f"phase {name.name} is of another graph; one of this graph "
                                      f"was expected")
            return self._phases[name.index]
        if not isinstance(name, (str, int, np.integer, type(None))):
            raise L.ArgumentError(f"phase is a {type(name).__name__}; a name, a number or a Phase "
                                  f"of the graph was expected")
        if name is None:
            names = ", ".join(p.name for p in self._attends)
            raise L.ArgumentError(f"{self.schema.topology} has {len(self._attends)} phases that "
                                  f"attend ({names}): say which")
        for p in self._phases:
            if name in (p.name, p.index):
                return p
        names = ", ".join(p.name for p in self._phases)
        raise L.ArgumentError(f"{self.schema.topology} has no phase {name!r}; its phases are "
                              f"{names}")

    def _of_kind(self, kind, function, dtype, count=None):
        """The numbers that a function has of a kind, or None. count None: one for each node."""
        with self._held():
            kind = L.whole("kind", kind, 0, len(self.schema.kinds) - 1)
            count = lib.gsa_batch_nodes(self._batch, kind) if count is None else count
            if function is None:
                return count
            at = function(self._batch, kind, None)
            return _copied(at, dtype, count) if at or not count else None

    def nodes(self, kind):
        """How many nodes of a kind there are, over all examples."""
        return self._of_kind(kind, None, None)

    def offsets(self, kind):
        """[examples + 1]: the first node of the kind of each example."""
        return self._of_kind(kind, lib.gsa_batch_offset, np.int64, self.examples + 1)

    def node_example(self, kind):
        return self._of_kind(kind, lib.gsa_batch_node_example, np.int32)

    def node_local(self, kind):
        return self._of_kind(kind, lib.gsa_batch_node_local, np.int32)

    def summary_nodes(self, kind):
        """[examples]: the summary node, where it is of this kind, else -1; or None."""
        return self._of_kind(kind, lib.gsa_batch_summary, np.int32, self.examples)

    @property
    def order(self):
        """Edge i is edge order[i] of the list that the graph was made of; None: the same."""
        with self._held() as handle:
            at = lib.gsa_graph_order(handle)
            return _copied(at, np.int64, self._phases[0].edges) if at else None

    def save(self, path, example=0):
        """One example as GraphML, DOT or Matrix Market, by the end of the path."""
        with self._held() as handle:
            example = L.whole("example", example, 0, self.examples - 1)
            text = self._text
            slices = None if text is None else _text([text[example]], [self._lengths[example]])
            at = None if slices is None else ctypes.addressof(slices)
            written = L.path("path", path)
            L.outside_checkpoints(path)
            self._check_read(path)
            L.call(lib.gsa_graph_write, handle, example, at, written)

    def _check_read(self, path):
        """A file that the pattern was read from is not replaced."""
        if not isinstance(self._keep, Topology):
            return
        spec, plugin, _ = self._keep._state
        keys = path_keys(plugin)
        for key, value in stack(spec)[0][0][0][1]:
            value = os.path.join(self._keep.folder, value)
            if key in keys and os.path.exists(path) and os.path.exists(value) and \
                    os.path.samefile(path, value):
                raise L.ArgumentError(f"'{os.fspath(path)}' cannot be written: the pattern was "
                                      f"read from it")

    def _edge_arguments(self):
        first = self.phase(0)
        row, source, label = first.coo()
        order = self.order
        if order is not None:
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            row, source, label = row[back], source[back], label[back]
        return (np.stack([source, row]), first.rows, self._own_sources, label,
                first.labels, self._example_rows, self._example_sources)


def _remake_pattern(t, lengths, text, memory, heads):
    return t.graph(lengths, text=text, memory=memory, heads=heads)


def _remake_edges(edges, rows, sources, label, labels, example_rows, example_sources):
    return graph(edges, rows=rows, sources=sources, label=label, labels=labels,
                 example_rows=example_rows, example_sources=example_sources)


class _PhaseFacts:
    """Sizes of one phase of a graph."""

    def __init__(self, handle, schema):
        self.schema, self.index, self.name = schema, schema.index, schema.name
        self.labels = schema.labels
        self.rows = lib.gsa_graph_rows(handle, schema.index)
        self.sources = lib.gsa_graph_sources(handle, schema.index)
        self.edges = lib.gsa_graph_edges(handle, schema.index)


class Phase:
    """The edges of one phase."""

    def __init__(self, graph, facts):
        self.graph = graph
        self.__dict__.update(facts.__dict__)

    def coo(self):
        """(row, source, label) of each edge, int32, in the order that weights stand in."""
        row, source, label = (np.empty(self.edges, np.int32) for _ in range(3))
        with self.graph._held() as handle:
            L.call(lib.gsa_graph_list, handle, self.index, row.ctypes.data, source.ctypes.data,
                   label.ctypes.data)
        return row, source, label

    def empty(self):
        """[destinations] bool: nodes without an in-edge; None: there is no such node."""
        with self.graph._held():
            at = lib.gsa_batch_empty(self.graph._batch, self.index, None)
            count = lib.gsa_batch_destinations(self.graph._batch, self.index)
            return _copied(at, np.uint8, count).astype(bool) if at else None

    def to_scipy(self, values=None):
        """A sparse matrix [rows, sources], csr; edges given twice add up. values: [edges]."""
        from scipy import sparse
        row, source, _ = self.coo()
        values = np.ones(self.edges, np.float32) if values is None else np.asarray(values)
        return sparse.csr_matrix((values, (row, source)), shape=(self.rows, self.sources))

    def to_networkx(self):
        """A MultiDiGraph whose edges point from source to row. Where sources are not the rows,
        nodes are ("source", i) and ("row", i)."""
        import networkx
        own = self.schema.sources == self.schema.destinations
        def name(side, i):
            return int(i) if own else (side, int(i))
        out = networkx.MultiDiGraph()
        out.add_nodes_from(name("source", i) for i in range(self.sources))
        out.add_nodes_from(name("row", i) for i in range(self.rows))
        out.add_edges_from((name("source", s), name("row", r), {"label": int(l)})
                           for r, s, l in zip(*self.coo()))
        return out


def _indices(values, what):
    if hasattr(values, "detach"):  # a tensor of PyTorch
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except ValueError:  # lists of lists that do not agree
        array = np.empty(0, object)
    if array.dtype.kind not in "iu" or array.dtype == np.uint64 and array.max(initial=0) >> 63:
        raise L.ArgumentError(f"{what}: whole numbers were expected, not {array.dtype}")
    if array.dtype not in (np.int32, np.int64):
        array = array.astype(np.int64)
    return L.aligned(array)


def _offsets_of(values, what):
    if values is None:
        return None
    offsets = L.aligned(_indices(values, what), np.int64)
    if offsets.ndim != 1 or len(offsets) < 2:
        raise L.ArgumentError(f"{what} has shape {np.shape(values)}; [examples + 1] was expected")
    return offsets


def graph(edges, rows=None, *, sources=None, label=None, labels=None, example_rows=None,
          example_sources=None):
    """A graph of your own edges.

    edges: [2, count] of sources and destinations (PyG's edge_index); (sources, destinations); a
    SciPy sparse matrix [rows, sources], whose stored places are the edges; or a DGL graph.
    rows: how many nodes are written. sources: how many are read, where these are other nodes.
    label: [count] below `labels`. example_rows, example_sources: [examples + 1] first nodes of
    graphs that share none, one after the other.
    """
    list_, keep = L._EdgeList(struct_size=ctypes.sizeof(L._EdgeList)), []
    if hasattr(edges, "tocsr"):
        matrix = edges.tocsr()
        if matrix.ndim != 2:
            raise L.ArgumentError(f"edges: a matrix of shape {matrix.shape}; [rows, sources] was "
                                  f"expected")
        rows = matrix.shape[0] if rows is None else rows
        if sources is None and matrix.shape[0] != matrix.shape[1]:
            sources = matrix.shape[1]
        offset, source = _indices(matrix.indptr, "indptr"), _indices(matrix.indices, "indices")
        destination = None
    else:
        if hasattr(edges, "num_dst_nodes"):  # DGL
            rows = edges.num_dst_nodes() if rows is None else rows
            edges = edges.edges()
        if not hasattr(edges, "__len__") or hasattr(edges, "edges"):
            raise L.ArgumentError(f"edges is a {type(edges).__name__}; [2, count], a SciPy matrix "
                                  f"or a DGL graph was expected")
        if len(edges) != 2:
            raise L.ArgumentError(f"edges: sources and destinations were expected, as [2, count], "
                                  f"not {len(edges)} rows")
        source, destination = (_indices(e, "edges") for e in edges)
        offset = None
        if source.shape != destination.shape or source.ndim != 1:
            raise L.ArgumentError(f"edges: {source.shape} sources and {destination.shape} "
                                  f"destinations")
        if rows is None:
            raise L.ArgumentError("rows, the number of destination nodes, must be given")
    other = offset if destination is None else destination
    if source.dtype != other.dtype:
        source, other = source.astype(np.int64), other.astype(np.int64)
    rows = L.whole("rows", rows, 0, L.INT_MAX)
    sources = sources if sources is None else L.whole("sources", sources, 0, L.INT_MAX)
    labels = labels if labels is None else L.whole("labels", labels, 0, L.INT_MAX)
    list_.index_bytes = source.dtype.itemsize
    list_.rows, list_.count = rows, len(source)
    list_.sources = -1 if sources is None else sources
    list_.source = source.ctypes.data or None
    if destination is None:
        list_.row_offset = other.ctypes.data
        if len(other) != rows + 1:
            raise L.ArgumentError(f"edges: a matrix of {len(other) - 1} rows, but rows is {rows}")
    else:
        list_.destination = other.ctypes.data
    if label is not None:
        label = _indices(label, "label")
        if label.size and not 0 <= label.min() <= label.max() < L.INT_MAX:
            raise L.ArgumentError(f"label: {label.min()} .. {label.max()} is not in 0 .. 2^31-2")
        label = L.aligned(label, np.int32)
        if label.shape != source.shape:
            raise L.ArgumentError(f"label: shape {label.shape}, expected {source.shape}, one for "
                                  f"each edge")
        list_.label = label.ctypes.data
        labels = (int(label.max()) + 1 if label.size else 1) if labels is None else labels
    list_.labels = labels or 0
    first = _offsets_of(example_rows, "example_rows")
    first_source = _offsets_of(example_sources, "example_sources")
    if first is not None:
        list_.examples, list_.example_rows = len(first) - 1, first.ctypes.data
        if sources is not None and (first_source is None or len(first_source) != len(first)):
            raise L.ArgumentError("example_sources: one for each of example_rows was expected")
    if first_source is not None:
        if sources is None or first is None:
            raise L.ArgumentError("example_sources: sources and example_rows were expected, too")
        list_.example_sources = first_source.ctypes.data
    keep += [source, other, label, first, first_source]
    made = Graph(_key, L.made(lib.gsa_graph_of_edges, None, ctypes.byref(list_)), None)
    made._own_sources, made._example_rows, made._example_sources = sources, first, first_source
    made._lengths = np.diff(first) if first is not None else np.array([rows])
    del keep
    return made
