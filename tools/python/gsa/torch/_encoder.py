"""A stack as a module: docs/executor.md, walked in Python with torch's own layers around attend.
It shares no code with the library's executor, and a test holds the two together."""

import math
import numbers
import re
from collections import Counter, OrderedDict
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .._graph import Topology, int_list, path_keys, stack
from .._library import INT_MAX, ArgumentError, is_others, whole
from ._checkpoint import (check_setting, find, read_step, save_step, setting, settings_of,
                          shape_of)
from ._ops import aggregate, attend

_ACTIVATIONS = {"relu": F.relu, "leaky_relu": lambda x: F.leaky_relu(x, 0.01), "gelu": F.gelu,
                "tanh": torch.tanh, "sigmoid": torch.sigmoid}
_PHASES = (1 << 20) // 3  # of a stack, as the library has them
_REPEATS = 4096  # of layers that share their weights, as the command has them
_GRAPHS = 32  # batches of patterns by length whose edges are kept


class Readout(NamedTuple):
    sequence: torch.Tensor  # [tokens, hidden]
    summary: torch.Tensor   # [examples, hidden], or None


class _Part:
    """One pattern of a segment."""

    def __init__(self, name, settings, plugin, segment):
        spec = ":".join([name, *(f"{key}={value}" for key, value in settings)])
        self.topology, self.segment = Topology(spec, plugin), segment
        self.schema, self.prefix = self.topology.schema, ""
        self.graphs = OrderedDict()

    def graph(self, lengths, text, memory, heads):
        key = (tuple(lengths), None if memory is None else tuple(memory))
        if text is None and key in self.graphs:
            self.graphs.move_to_end(key)
            return self.graphs[key]
        graph = self.topology.graph(lengths, text=text, memory=memory, heads=heads)
        if text is None:
            self.graphs[key] = graph
            while len(self.graphs) > _GRAPHS:
                self.graphs.popitem(last=False)
        return graph

    def __getstate__(self):
        return {**self.__dict__, "graphs": OrderedDict()}


class _Step(NamedTuple):
    """enter: a segment begins; else a phase of a part in a layer (-1: once)."""
    enter: int
    part: _Part = None
    phase: object = None
    layer: int = -1
    opens: bool = True


def _segments(spec, plugin):
    segments = []
    for s, (parts, layers, shared) in enumerate(stack(spec)):
        parts = [_Part(name, settings, plugin, s) for name, settings in parts]
        seen = Counter()
        for part in parts:
            name = part.schema.topology
            seen[name] += 1
            number = str(seen[name]) if seen[name] > 1 else ""
            part.prefix = "" if len(parts) == 1 else f"{name}{number}."
        segments.append((parts, layers, shared))
    return segments


def _layer_order(parts):
    """(part, phase) of one layer: a's phases up to its last with edges, what follows, the rest."""
    heads, tails = [], []
    for part in parts:
        phases = [p for p in part.schema.phases if not p.once]
        last = max((i for i, p in enumerate(phases) if p.aggregate != "none"), default=-1)
        heads += [(part, p) for p in phases[:last + 1]]
        tails.append([(part, p) for p in phases[last + 1:]])
    return heads + [step for tail in reversed(tails) for step in tail]


def _opens(steps, part, phase, layer):
    """Does the phase start its group? Not where one of its group has run just before."""
    first = phase.index
    for p in reversed(part.schema.phases[:phase.index + 1]):
        if p.once != phase.once:
            continue
        first = p.index
        if not p.together:
            break
    last = steps[-1]
    return (last.part is not part or last.layer != layer or last.phase.index < first or
            first == phase.index)


class _Kind(NamedTuple):
    part: _Part
    index: int
    start: str
    learned: int


def _reads_old(phase):
    return phase.aggregate in ("attend", "none") or phase.update in ("sublayer", "ffn")


class Encoder(nn.Module):
    """A stack of patterns, as "star*2" or "window:width=11*3,full*3".

    forward(x [tokens, hidden], lengths) returns Readout(sequence, summary). text: tokens of each
    example, for patterns that read them; memory [memory tokens, hidden] with memory_lengths: for
    patterns that read another sequence. The settings are those of recipes, with their defaults.
    """

    def __init__(self, spec, hidden, heads, *, head_dim=0, ffn=0, activation="relu", norm="post",
                 norm_eps=1e-6, bias="", scale="head", dropout_attention=0.0, dropout_hidden=0.0,
                 dropout_ffn=0.0, readout="summary", plugin=None):
        super().__init__()
        hidden, heads = whole("hidden", hidden, 1, INT_MAX), whole("heads", heads, 1, INT_MAX)
        head_dim, ffn = whole("head_dim", head_dim, 0, INT_MAX), whole("ffn", ffn, 0, INT_MAX)
        self.spec, self.hidden, self.heads = spec, hidden, heads
        if activation not in _ACTIVATIONS:
            raise ArgumentError(f"activation {activation!r}; one of {', '.join(_ACTIVATIONS)} was "
                                f"expected")
        if norm not in ("post", "pre") or scale not in ("head", "full"):
            raise ArgumentError(f"norm {norm!r} and scale {scale!r}; post or pre, head or full "
                                f"were expected")
        if readout not in ("summary", "mean", "max"):
            raise ArgumentError(f"readout {readout!r}; summary, mean or max was expected")
        if not isinstance(bias, str) or not re.fullmatch("([qkvo](,[qkvo])*)?", bias):
            raise ArgumentError(f"bias {bias!r}; some of q,k,v,o was expected")
        for name, share in (("attention", dropout_attention), ("hidden", dropout_hidden),
                            ("ffn", dropout_ffn)):
            if not isinstance(share, numbers.Real) or not 0 <= share < 1:
                raise ArgumentError(f"dropout_{name} is {share!r}; a number from 0, and below 1, "
                                    f"was expected")
        check_setting("norm_eps", norm_eps)
        if not head_dim and hidden % heads:
            raise ArgumentError(f"hidden = {hidden} does not divide by heads = {heads}: set "
                                f"head_dim")
        self.head_dim, self.ffn = head_dim or hidden // heads, ffn or 4 * hidden
        self.activation, self.pre, self.norm_eps = activation, norm == "pre", norm_eps
        self.scale = 1 / math.sqrt(hidden if scale == "full" else self.head_dim)
        self.dropout = dropout_attention, dropout_hidden, dropout_ffn
        self._bias = bias
        self._segments = _segments(spec, plugin)
        self._join_kinds()
        last = self._last.schema
        self._pools = last.summary if readout == "summary" else [(last.sequence, readout, 1.0)]
        self._order()
        self._weigh()
        self._find_needed()

    # ---- the program ---------------------------------------------------------------------------

    def _join_kinds(self):
        self._kinds = {}
        for parts, _, _ in self._segments:
            for part in parts:
                for kind in part.schema.kinds:
                    self._kinds.setdefault(kind.name,
                                           _Kind(part, kind.index, kind.start, kind.learned))
        part = self._segments[-1][0][0]
        self._last = part
        self._sequence = part.schema.kinds[part.schema.sequence].name

    def _order(self):
        phases = sum(layers * sum(not p.once for part in parts for p in part.schema.phases)
                     for parts, layers, _ in self._segments)
        if phases > _PHASES:
            raise ArgumentError(f"the stack has {phases} phases over all layers; at most {_PHASES} "
                                f"were expected")
        self._steps, layer = [], 0
        for s, (parts, layers, _) in enumerate(self._segments):
            self._steps.append(_Step(s))
            for part in parts:
                for phase in part.schema.phases:
                    new = [k for k in phase.destinations
                           if self._kinds[part.schema.kinds[k].name].part.segment == s]
                    if phase.once and new:
                        self._add(part, phase, -1)
            for _ in range(layers):
                for part, phase in _layer_order(parts):
                    self._add(part, phase, layer)
                layer += 1

    def _add(self, part, phase, layer):
        self._steps.append(_Step(-1, part, phase, layer, _opens(self._steps, part, phase, layer)))

    def _names(self, part, kinds):
        return [part.schema.kinds[k].name for k in kinds]

    def _find_needed(self):
        """Going backwards from what is read: phases that no readout depends on are skipped."""
        current, old, self._needed = {self._sequence}, set(), set()
        for kind, pool, _ in self._pools:
            current |= set(self._names(self._last, range(len(self._last.schema.kinds))
                                       if pool == "node" else [kind]))
        for i in reversed(range(len(self._steps))):
            step = self._steps[i]
            if step.enter >= 0:
                current |= old
                old = set()
                current = {k for k in current if self._kinds[k].part.segment != step.enter}
                continue
            written = self._names(step.part, step.phase.destinations)
            if current & set(written):
                self._needed.add(i)
                if not step.phase.keeps_empty or step.phase.aggregate == "none":
                    current -= set(written)
                if _reads_old(step.phase):
                    old |= set(written)
                old |= set(self._names(step.part, step.phase.sources))
            if step.opens:
                current |= old
                old = set()

    # ---- weights -------------------------------------------------------------------------------

    def _weigh(self):
        first, known, self._weights = 0, {}, {}
        for i, step in enumerate(self._steps):
            if step.enter >= 0:
                first = self._steps[i - 1].layer + 1 if i else 0
                continue
            part, phase = step.part, step.phase
            share = self._segments[part.segment][2]
            layer = "once" if step.layer < 0 else "0" if share else str(step.layer - first)
            name = f"{part.segment}.{layer}.{part.prefix}{phase.weights or phase.name}"
            if name not in known:
                known[name] = self._phase_module(phase)
                _put(self, name, known[name])
            self._weights[i] = name
        for name, kind in self._kinds.items():
            if kind.learned:
                _put(self, name, _Table("rows", kind.learned, self.hidden, 0.02))
        if self.pre:
            self.norm = nn.LayerNorm(self.hidden, eps=self.norm_eps)

    def _phase_module(self, phase):
        m, width = nn.Module(), self.heads * self.head_dim
        attends, hidden = phase.aggregate == "attend", self.hidden
        if attends:
            m.q, m.k, m.v = (_linear(hidden, width, name in self._bias) for name in "q-v")
            if phase.label_use == "key_vectors":
                m.labels = _Labels("vectors", phase.labels, self.head_dim)
            elif phase.label_use == "head_bias":
                m.labels = _Labels("bias", phase.labels, 1 if phase.per_head else self.heads)
        if phase.update == "ffn":
            m.up, m.down = _linear(hidden, self.ffn, True), _linear(self.ffn, hidden, True)
        elif phase.update != "assign":
            m.o = _linear(width if attends else hidden, hidden, "o" in self._bias)
        if phase.update not in ("linear", "assign"):
            m.norm = nn.LayerNorm(hidden, eps=self.norm_eps)
        return m

    # ---- forward -------------------------------------------------------------------------------

    def forward(self, x, lengths, *, text=None, memory=None, memory_lengths=None):
        lengths = int_list(lengths, "lengths").tolist()
        self._check_rows("x", x, lengths)
        if memory is not None and memory_lengths is not None:
            memory_lengths = int_list(memory_lengths, "memory_lengths").tolist()
            self._check_rows("memory", memory, memory_lengths)
        elif memory is not None or memory_lengths is not None:
            raise ArgumentError("memory and memory_lengths: both were expected, or none")
        graphs = {part: part.graph(lengths, text, memory_lengths, self.heads)
                  for parts, _, _ in self._segments for part in parts}
        now, old = {}, {}
        for i, step in enumerate(self._steps):
            if step.enter >= 0:
                for name, kind in self._kinds.items():
                    if kind.part.segment == step.enter:
                        now[name] = self._start(name, kind, graphs[kind.part], lengths, x,
                                                memory)
                old = dict(now)
                continue
            if step.opens:
                old = dict(now)
            if i in self._needed:
                self._run(step, self.get_submodule(self._weights[i]), graphs[step.part], now, old)
        return self._read_out(graphs[self._last], now)

    def _check_rows(self, name, x, lengths):
        if not isinstance(x, torch.Tensor):
            raise ArgumentError(f"{name} is a {type(x).__name__}; a torch.Tensor was expected")
        if tuple(x.shape) != (sum(lengths), self.hidden):
            raise ArgumentError(f"{name} has shape {tuple(x.shape)}; {sum(lengths)} tokens of "
                                f"{self.hidden} columns were expected")

    def _start(self, name, kind, graph, lengths, x, memory):
        nodes = graph.nodes(kind.index)
        if kind.start in ("input", "copy", "memory"):
            rows = memory if kind.start == "memory" else x
            if rows is None:
                raise ArgumentError(f"kind {name} of {kind.part.schema.topology} starts from a "
                                    f"memory: memory and memory_lengths must be given")
            if rows.shape[0] != nodes:
                raise ArgumentError(f"kind {name} starts from {nodes} rows of the {kind.start}, "
                                    f"which has {rows.shape[0]}")
        elif kind.start == "mean_input":
            of_row = _places(np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64)), x)
            rows = _mean(x, of_row, len(lengths))[_places(graph.node_example(kind.index), x)]
        else:
            rows = x.new_zeros((nodes, self.hidden))
        if kind.learned:
            table = getattr(self.get_submodule(name), "rows").weight
            rows = rows + table[_places(graph.node_local(kind.index), table)]
        return rows

    def _run(self, step, w, graph, now, old):
        part, phase = step.part, step.phase
        written = self._names(part, phase.destinations)
        x = torch.cat([old[k] for k in written]) if len(written) > 1 else old[written[0]]
        norm_first = self.pre and phase.update in ("sublayer", "ffn")
        y = w.norm(x) if norm_first else x
        u = self._update(phase, w, x, self._aggregate(part, phase, w, graph, y, old, norm_first))
        empty = graph.phase(phase.index).empty() \
            if phase.keeps_empty and phase.aggregate != "none" else None
        if empty is not None:
            keep = torch.cat([now[k] for k in written])
            u = torch.where(torch.as_tensor(empty, device=u.device)[:, None], keep, u)
        for name, rows in zip(written, u.split([graph.nodes(k) for k in phase.destinations])):
            now[name] = rows

    def _aggregate(self, part, phase, w, graph, y, old, norm_first):
        if phase.aggregate == "none":
            return y
        normed = dict(zip(phase.destinations,
                          y.split([graph.nodes(k) for k in phase.destinations])))
        read = [normed[k] if norm_first and k in normed else old[part.schema.kinds[k].name]
                for k in phase.sources]
        s = torch.cat(read) if len(read) > 1 else read[0]
        p, heads = graph.phase(phase.index), self.heads
        if phase.aggregate != "attend":
            s = s.reshape(p.sources, -1)
            a = aggregate(s, graph, p, mean=phase.aggregate == "mean")
            return a.reshape(-1, self.hidden)
        shape = (-1, 1, self.head_dim) if phase.per_head else (-1, heads, self.head_dim)
        labels = getattr(w, "labels", None)
        a = attend(w.q(y).view(shape), w.k(s).view(shape), w.v(s).view(shape), graph, p,
                   label_vectors=getattr(labels, "vectors", None),
                   label_bias=getattr(labels, "bias", None), scale=self.scale,
                   dropout=self.dropout[0] if self.training else 0.0)
        return a.reshape(-1, heads * self.head_dim)

    def _update(self, phase, w, x, a):
        kind = phase.update
        if kind == "assign":
            return a
        if kind == "ffn":
            f = F.dropout(_ACTIVATIONS[self.activation](w.up(a)), self.dropout[2], self.training)
            u = w.down(f)
        else:
            u = w.o(a)
        if kind == "linear":
            return u
        if kind == "relu_norm":
            u = F.relu(u)
        u = F.dropout(u, self.dropout[1], self.training)
        if kind in ("sublayer", "ffn"):
            u = x + u
            if self.pre:
                return u
        return w.norm(u)

    def _read_out(self, graph, now):
        last = self.norm if self.pre else lambda rows: rows
        total = None
        for kind, pool, weight in self._pools:
            name = self._last.schema.kinds[kind].name
            if pool == "node":
                pooled = self._summary_nodes(graph, now, last)
            else:
                example = _places(graph.node_example(kind), now[name])
                pooled = (_mean if pool == "mean" else _maximum)(last(now[name]), example,
                                                                 graph.examples)
            total = weight * pooled if total is None else total + weight * pooled
        return Readout(last(now[self._sequence]), total)

    def _summary_nodes(self, graph, now, last):
        total = next(iter(now.values())).new_zeros((graph.examples, self.hidden))
        for k, kind in enumerate(self._last.schema.kinds):
            row = graph.summary_nodes(k)
            if row is not None:
                row = _places(row, total)
                there = (row >= 0)[:, None]
                total = total + torch.where(there, last(now[kind.name])[row.clamp(min=0)], 0)
        return total

    # ---- checkpoints ---------------------------------------------------------------------------

    def named_tensors(self, name="encoder"):
        """Parameters by the names, and in the shapes, of checkpoints."""
        return {f"{name}.{_theirs(own)}": p for own, p in self.named_parameters()}

    @classmethod
    def load(cls, folder, name="encoder", key=None, plugin=None):
        """The stack of that name of a trained model; key: the recipe key of its spec."""
        step = find(folder)
        config, tensors, others = read_step(step, folder)
        key = key or name
        where = f"{step}/config.ini"
        spec = config.get("model", {}).get(key)
        if spec is None:
            raise ArgumentError(f"{where}: [model] has no {key}")
        if key == "encoder" and any(section.startswith("encoder.") for section in config):
            raise ArgumentError(f"{where}: sections [encoder.N] are not read here; all settings "
                                f"were expected in encoder = {spec[:99]}")
        segments = stack(spec)
        others = others or is_others(folder)
        if others:
            _check_paths(where, segments, plugin)
        parts = sum(len(parts) * (1 if shared else layers) for parts, layers, shared in segments)
        held = sum(x.size > 0 for x in tensors.values())
        if parts > held:  # before there are patterns and modules for them
            raise ArgumentError(f"the checkpoint has {held} tensors, by its config.ini it has "
                                f"{parts} layers")
        again = sum(len(parts) * (layers - 1) for parts, layers, shared in segments if shared)
        if again > _REPEATS:
            raise ArgumentError(f"the model repeats layers that share their weights {again} "
                                f"times, expected at most {_REPEATS}")
        for s, (_, layers, shared) in enumerate(segments if others else []):
            _check_layers(tensors, f"{name}.{s}", 1 if shared else layers)
        return _loaded(lambda: cls(spec, plugin=plugin, **settings_of(config)), tensors, name)

    def load_tensors(self, tensors, name="encoder"):
        _check_tensors(self, tensors, name)
        return _filled(self, tensors, name)

    def save(self, folder, like, name="encoder"):
        """A checkpoint with these weights in place of those of `like`, a trained model: as
        save_checkpoint."""
        save_step(folder, find(like), self.named_tensors(name))


def _check_tensors(module, tensors, name):
    for full, p in module.named_tensors(name).items():
        if full not in tensors:
            raise ArgumentError(f"the checkpoint has no tensor {full}")
        if tensors[full].dtype.kind != "f":
            raise ArgumentError(f"the checkpoint's {full} is of {tensors[full].dtype}; real numbers "
                                f"were expected")
        if tuple(tensors[full].shape) != shape_of(p):
            raise ArgumentError(f"the checkpoint's {full} is {list(tensors[full].shape)}, by its "
                                f"config.ini it is {list(shape_of(p))}")
        if not torch.as_tensor(tensors[full], device="cpu").to(p.dtype).isfinite().all():
            raise ArgumentError(f"the checkpoint's {full} is not finite as {p.dtype}")


def _filled(module, tensors, name):
    with torch.no_grad():
        for full, p in module.named_tensors(name).items():
            p.copy_(torch.as_tensor(tensors[full]).reshape(p.shape))
    return module


def _loaded(make, tensors, name):
    """Shapes are compared before there is memory for them: a config may name any number."""
    with torch.device("meta"):
        _check_tensors(make(), tensors, name)
    return _filled(make(), tensors, name)


def _check_layers(tensors, prefix, layers):
    """Each has tensors of its name."""
    known = {key[len(prefix) + 1:].partition(".")[0] for key, x in tensors.items()
             if key.startswith(f"{prefix}.") and x.size > 0}
    for layer in range(layers):
        if str(layer) not in known:
            raise ArgumentError(f"the checkpoint has no tensor {prefix}.{layer}.*, by its "
                                f"config.ini {prefix} has {layers} layers")


def _check_paths(where, segments, plugin):
    """As gsa.load: another user's model names no file that is opened."""
    keys = path_keys(plugin)
    for key, path in (setting for parts, _, _ in segments for _, settings in parts
                      for setting in settings):
        if key in keys:
            raise ArgumentError(f"{where}: the model's recipe names the file '{path}' ({key}), and "
                                f"the model is not trusted: nothing that it names is opened")


def _places(values, x):
    """Indices on the device of x."""
    return torch.as_tensor(values, dtype=torch.int64, device=x.device)


def _theirs(own):
    own = re.sub(r"\bnorm\.weight$", "norm.gain", own)
    return own


def _put(module, name, leaf):
    *path, last = name.split(".")
    for step in path:
        if not hasattr(module, step):
            module.add_module(step, nn.Module())
        module = getattr(module, step)
    module.add_module(last, leaf)


def _linear(columns, rows, bias):
    made = nn.Linear(columns, rows, bias=bias)
    nn.init.xavier_uniform_(made.weight)
    if bias:
        nn.init.zeros_(made.bias)
    return made


class _Labels(nn.Module):
    """Learned vectors or biases of edges' labels."""

    def __init__(self, name, labels, columns):
        super().__init__()
        table = nn.Parameter(torch.zeros(labels, columns))
        if name == "vectors":
            nn.init.xavier_uniform_(table)
        self.register_parameter(name, table)


class _Table(nn.Module):
    def __init__(self, name, rows, columns, std):
        super().__init__()
        self.add_module(name, nn.Embedding(rows, columns))
        nn.init.normal_(getattr(self, name).weight, std=std)


def _mean(x, example, examples):
    total = x.new_zeros((examples, x.shape[1])).index_add(0, example, x)
    return total / torch.bincount(example, minlength=examples).clamp(min=1)[:, None]


def _maximum(x, example, examples):
    zeros = x.new_zeros((examples, x.shape[1]))
    return zeros.scatter_reduce(0, example[:, None].expand_as(x), x, "amax", include_self=False)


class Input(nn.Module):
    """Rows of tokens from ids: embedding [+ linear] x scale + positions, then norm and dropout."""

    def __init__(self, vocabulary, hidden, *, width=0, scale=1.0, position="none",
                 position_max=512, position_base=10000.0, order="dropout", dropout=0.0,
                 norm_eps=1e-6):
        super().__init__()
        for key, value in (("input_scale", scale), ("position", position), ("input", order),
                           ("position_base", position_base), ("dropout_input", dropout),
                           ("norm_eps", norm_eps)):
            check_setting(key, value)
        self.hidden, self.scale, self.position, self.base = hidden, scale, position, position_base
        self.order, self.dropout = order, dropout
        self.embedding = nn.Embedding(vocabulary, width or hidden, padding_idx=0)
        if width and width != hidden:
            self.linear = nn.Linear(width, hidden)
        if position == "learned":
            self.position_rows = nn.Embedding(position_max, hidden)
        if "norm" in order:
            self.norm = nn.LayerNorm(hidden, eps=norm_eps)

    def forward(self, ids, lengths):
        x = self.embedding(ids)
        x = self.linear(x) if hasattr(self, "linear") else x
        x = x * self.scale
        place = torch.cat([torch.arange(int(n), device=ids.device) for n in lengths]) if len(lengths) else ids
        if self.position == "learned":
            x = x + self.position_rows(place)
        elif self.position == "sinusoid":
            x = x + self._sinusoids(place).to(x.dtype)
        for word in self.order.split("_"):
            if word == "norm":
                x = self.norm(x)
            elif word == "dropout":
                x = F.dropout(x, self.dropout, self.training)
        return x

    def _sinusoids(self, place):
        c = torch.arange(self.hidden, dtype=torch.float64, device=place.device)
        angle = place[:, None].double() / self.base ** ((c - c % 2) / self.hidden)
        return torch.where(c % 2 == 1, angle.cos(), angle.sin())

    def named_tensors(self, name="input"):
        return {f"{name}.{_theirs(own.replace('position_rows', 'position'))}": p
                for own, p in self.named_parameters()}

    @classmethod
    def load(cls, folder, name="input"):
        config, tensors, _ = read_step(find(folder), folder)
        table = tensors.get(f"{name}.embedding.weight")
        if table is None or table.ndim != 2 or not table.size:
            raise ArgumentError(f"the checkpoint has no matrix {name}.embedding.weight")
        m = {key: setting(config, key) for key in
             ("hidden", "input_scale", "position", "position_max", "position_base", "input",
              "dropout_input", "norm_eps")}
        return _loaded(lambda: cls(
            table.shape[0], m["hidden"], width=table.shape[1], scale=m["input_scale"],
            position=m["position"], position_max=m["position_max"],
            position_base=m["position_base"], order=m["input"], dropout=m["dropout_input"],
            norm_eps=m["norm_eps"]), tensors, name)
