"""Models of the project in plain PyTorch, eager, for the scripts that time a step against it: the same equations, weights read from a
checkpoint of gsa, batches on the device. Every model is called with a batch of tensors and gives the loss. Of several ways to write the same
equations these are the fastest that were found.

    Star     Star-Transformer (Guo et al. 2019), of rows of features or of words in sentences of different lengths
    Full     Transformer encoder, post-norm: PyTorch's own layers
    Causal   Transformer decoder without memory, pre-norm, as a language model: SDPA with is_causal
    Tree     any pattern of one kind of attention with label vectors, here BP-Transformer (Ye et al. 2019), as a language model
"""
import json
import math
import struct


def read_weights(torch, path):
    """Tensors of a safetensors file by name: a length, a header in JSON, the numbers."""
    kinds = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "I32": torch.int32}
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), bytearray(file.read())
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            found[name] = torch.frombuffer(data[first:end], dtype=kinds[entry["dtype"]]).reshape(entry["shape"]).clone()
    return found


def ragged(torch, texts):
    """A batch of lists of words' numbers, made up to the longest: where each ends, and what that makes of means, maxima and the relay's scores
    (it reads itself too)."""
    lengths, row = torch.tensor([len(text) for text in texts]), torch.arange(len(texts))
    place = torch.arange(int(lengths.max()))[None]
    beyond, id = place >= lengths[:, None], torch.zeros(len(texts), int(lengths.max()), dtype=torch.long)
    for i, text in enumerate(texts):
        id[i, :len(text)] = torch.tensor(text)
    own = torch.cat([torch.zeros(len(texts), 1), torch.where(beyond, -math.inf, 0.0)], 1)
    return dict(id=id, row=row, last=lengths - 1, beyond=beyond[..., None], is_last=(place == lengths[:, None] - 1)[..., None, None],
                share=(~beyond / lengths[:, None])[..., None], bias=own[:, None, None])


def step(torch, model, adam, batch, clip):
    """One step of training; gives the loss, read back as gsa reads it."""
    adam.zero_grad(set_to_none=True)
    loss = model(batch)
    loss.backward()
    if clip > 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    adam.step()
    return loss.item()


def models(torch):
    nn = torch.nn

    def few(q, keys, values):
        """Lists of planes [b, n, heads, d], one a source: scores are joined, planes are not. A third less time than einsum over planes
        stacked to [b, n, sources, heads, d]."""
        q = q / math.sqrt(q.shape[-1])
        p = torch.softmax(torch.stack([(q * k).sum(-1) for k in keys], -1), -1)
        return sum(p[..., i:i + 1] * v for i, v in enumerate(values)).flatten(2)

    def many(q, k, v, bias):
        """q [b, 1, heads, d]; k, v [b, n, heads, d]; bias [b, 1, 1, n]: what is added to scores"""
        s = torch.einsum("bqhd,bnhd->bhqn", q, k) / math.sqrt(q.shape[-1])
        p = torch.softmax(s if bias is None else s + bias, -1)
        return torch.einsum("bhqn,bnhd->bqhd", p, v).flatten(2)

    class Head(nn.Module):
        def __init__(self, hidden, middle, outputs, dropout):
            super().__init__()
            self.hidden, self.dropout = nn.Linear(hidden, middle) if middle else None, nn.Dropout(dropout)
            self.out = nn.Linear(middle or hidden, outputs)

        def forward(self, x):
            return self.out(self.dropout(torch.relu(self.hidden(x))) if self.hidden else x)

    class Input(nn.Module):
        """Rows of features through a Linear, or words, whose vectors may have a width of their own and then go through one, and positions."""

        def __init__(self, hidden, width=0, words=0, positions=0, dropout=0.0):
            super().__init__()
            self.linear = nn.Linear(width, hidden) if width else None
            self.embedding = nn.Embedding(words, width or hidden, padding_idx=0) if words else None
            self.position, self.dropout = nn.Embedding(positions, hidden) if positions else None, nn.Dropout(dropout)

        def forward(self, batch):
            x = self.embedding(batch["id"]) if self.embedding else batch["x"]
            if self.linear:
                x = self.linear(x)
            if self.position:
                x = x + self.position.weight[: x.shape[1]]
            return self.dropout(x)

    def mean(x, batch):
        """Of an example's rows, [b, 1, hidden]; share [b, n, 1]: 1 / length, 0 behind the last."""
        return (x * batch["share"]).sum(1, keepdim=True) if "share" in batch else x.mean(1, keepdim=True)

    def maximum(x, batch):
        return (x.masked_fill(batch["beyond"], -math.inf) if "beyond" in batch else x).max(1).values

    def loss_of(out, batch):
        if "target" in batch:
            return ((out - batch["target"]) ** 2).mean()
        return nn.functional.cross_entropy(out, batch["label"])

    class Phase(nn.Module):
        def __init__(self, hidden, heads, eps):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
            self.norm = nn.LayerNorm(hidden, eps=eps)

        def split(self, layer, x):
            return layer(x).unflatten(-1, (self.heads, -1))

        def update(self, a):
            return self.norm(torch.relu(self.o(a)))

    class Star(nn.Module):
        """h_i reads its neighbours, itself, its embedding and the relay; the relay itself and all h (Guo et al. 2019, eq. 4 to 8). In layer one
        the embedding is the state, so that K and V are made once there. Batches of unlike lengths are those of ragged()."""

        def __init__(self, hidden, heads, layers, outputs, middle=0, eps=1e-6, dropout_head=0.0, **start):
            super().__init__()
            self.input, self.head = Input(hidden, **start), Head(hidden, middle, outputs, dropout_head)
            self.down, self.up = (nn.ModuleList(Phase(hidden, heads, eps) for _ in range(layers)) for _ in range(2))

        def neighbours(self, plane, batch):
            left, right = plane.roll(1, 1), plane.roll(-1, 1)
            if "last" not in batch:  # all of one length
                return left, right
            return (torch.cat([plane[batch["row"], batch["last"]][:, None], plane[:, :-1]], 1),
                    torch.where(batch["is_last"], plane[:, :1], right))

        def forward(self, batch):
            e = h = self.input(batch)
            relay = mean(h, batch)
            for number, (down, up) in enumerate(zip(self.down, self.up)):
                planes = []
                for layer in (down.k, down.v):
                    own, far = down.split(layer, h), down.split(layer, relay)
                    first = own if number == 0 else down.split(layer, e)
                    left, right = self.neighbours(own, batch)
                    planes.append([left, own, right, first, far])
                h = down.update(few(down.split(down.q, h), *planes))
                read = torch.cat([relay, h], 1)
                k, v = (up.split(layer, read) for layer in (up.k, up.v))
                relay = up.update(many(up.split(up.q, relay), k, v, batch.get("bias")))
            return loss_of(self.head(relay[:, 0] + maximum(h, batch)), batch)

        def load(self, w):
            for i, phases in enumerate(zip(self.down, self.up)):
                for name, phase in zip(("down", "up"), phases):
                    load_phase(phase, w, f"encoder.0.{i}.{name}")
            load_ends(self, w)

    class Full(nn.Module):
        def __init__(self, hidden, heads, layers, outputs, ffn, activation, middle=0, eps=1e-6, pool=mean, dropout_head=0.0, **start):
            super().__init__()
            self.pool = pool
            layer = nn.TransformerEncoderLayer(hidden, heads, ffn, 0.0, activation, eps, batch_first=True)
            self.input, self.head = Input(hidden, **start), Head(hidden, middle, outputs, dropout_head)
            self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            for one in self.layers.layers:  # gsa's projections have no biases
                for bias in (one.self_attn.in_proj_bias, one.self_attn.out_proj.bias):
                    nn.init.zeros_(bias).requires_grad_(False)

        def forward(self, batch):
            x = self.layers(self.input(batch), src_key_padding_mask=batch["beyond"][..., 0] if "beyond" in batch else None)
            return loss_of(self.head(self.pool(x, batch).flatten(1)), batch)

        def load(self, w):
            for i, one in enumerate(self.layers.layers):
                at = f"encoder.0.{i}."
                copy(one.self_attn.in_proj_weight, torch.cat([w[f"{at}attend.{x}.weight"] for x in "qkv"]))
                copy(one.self_attn.out_proj.weight, w[at + "attend.o.weight"])
                load_norm(one.norm1, w, at + "attend.norm")
                load_ffn(one.linear1, one.linear2, one.norm2, w, at + "ffn")
            load_ends(self, w)

    class CausalLayer(nn.Module):
        """Q, K and V by one product; nothing is masked, as SDPA knows what is_causal leaves out."""

        def __init__(self, hidden, heads, ffn, eps):
            super().__init__()
            self.heads = heads
            self.qkv, self.o = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
            self.up, self.down = nn.Linear(hidden, ffn), nn.Linear(ffn, hidden)
            self.norm, self.last = nn.LayerNorm(hidden, eps=eps), nn.LayerNorm(hidden, eps=eps)

        def forward(self, x):
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
            a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(a.transpose(1, 2).flatten(2))
            return x + self.down(torch.relu(self.up(self.last(x))))

    class Causal(nn.Module):
        """The output layer is the embedding; classes are its last rows."""

        def __init__(self, hidden, heads, layers, ffn, words, classes, positions, eps=1e-6):
            super().__init__()
            self.input, self.bias = Input(hidden, words=words, positions=positions), nn.Parameter(torch.zeros(classes))
            self.layers = nn.ModuleList(CausalLayer(hidden, heads, ffn, eps) for _ in range(layers))
            self.norm = nn.LayerNorm(hidden, eps=eps)
            nn.init.normal_(self.input.embedding.weight, std=0.05)

        def forward(self, batch):
            x = self.input(batch)
            for layer in self.layers:
                x = layer(x)
            out = self.norm(x) @ self.input.embedding.weight[-len(self.bias):].t() + self.bias
            return nn.functional.cross_entropy(out.flatten(0, 1), batch["label"].flatten())

    class Layer(nn.Module):
        """Attention over edges with a vector a label on the keys, then the feed-forward part; both add to x and are normed."""

        def __init__(self, hidden, heads, ffn, labels, eps):
            super().__init__()
            self.attend = Phase(hidden, heads, eps)
            self.labels = nn.Parameter(torch.zeros(labels, hidden // heads))
            self.up, self.down, self.norm = nn.Linear(hidden, ffn), nn.Linear(ffn, hidden), nn.LayerNorm(hidden, eps=eps)

        def forward(self, x, graph):
            a = self.attend
            q, k, v = (a.split(layer, x) for layer in (a.q, a.k, a.v))
            x = a.norm(x + a.o(graph(q, k, v, self.labels).flatten(2)))
            return self.norm(x + self.down(torch.relu(self.up(x))))

    class Edges:
        """Edges gathered, softmax by scattering."""

        def __init__(self, rows, sources, labels, nodes):
            self.rows, self.sources, self.labels, self.nodes = rows, sources, labels, nodes

        def __call__(self, q, k, v, vectors):
            key = k[:, self.sources] + vectors[self.labels][None, :, None]
            s = (q[:, self.rows] * key).sum(-1) / math.sqrt(q.shape[-1])
            at = self.rows[None, :, None].expand_as(s)
            top = s.new_full((s.shape[0], self.nodes, s.shape[2]), -math.inf).scatter_reduce(1, at, s.detach(), "amax")
            p = torch.exp(s - top[:, self.rows])
            p = p / s.new_zeros(top.shape).index_add(1, self.rows, p)[:, self.rows]
            return torch.zeros_like(q).index_add(1, self.rows, p[..., None] * v[:, self.sources])

    class Dense:
        """All pairs of nodes under a mask."""

        def __init__(self, rows, sources, labels, nodes):
            self.label = torch.zeros(nodes, nodes, dtype=torch.long, device=rows.device)
            self.shut = torch.full((nodes, nodes), -math.inf, device=rows.device)
            self.label[rows, sources], self.shut[rows, sources] = labels, 0.0

        def __call__(self, q, k, v, vectors):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            near = (q @ vectors.t()).gather(-1, self.label.expand(*q.shape[:2], -1, -1))
            p = torch.softmax((q @ k.transpose(-1, -2) + near) / math.sqrt(q.shape[-1]) + self.shut, -1)
            return (p @ v).transpose(1, 2)

    class Tree(nn.Module):
        """Nodes are the tokens, then spans, which start at zero."""

        def __init__(self, hidden, heads, layers, ffn, words, classes, labels, spans, graph, eps):
            super().__init__()
            self.embedding, self.bias = nn.Embedding(words, hidden, padding_idx=0), nn.Parameter(torch.zeros(classes))
            self.layers = nn.ModuleList(Layer(hidden, heads, ffn, labels, eps) for _ in range(layers))
            self.spans, self.graph = spans, graph

        def forward(self, batch):
            x = self.embedding(batch["id"])
            tokens = x.shape[1]
            x = torch.cat([x, x.new_zeros(x.shape[0], self.spans, x.shape[2])], 1)
            for layer in self.layers:
                x = layer(x, self.graph)
            out = x[:, :tokens] @ self.embedding.weight[-len(self.bias):].t() + self.bias
            return nn.functional.cross_entropy(out.flatten(0, 1), batch["label"].flatten())

        def load(self, w):
            for i, layer in enumerate(self.layers):
                at = f"encoder.0.{i}."
                load_phase(layer.attend, w, at + "attend")
                copy(layer.labels, w[at + "attend.labels.vectors"])
                load_ffn(layer.up, layer.down, layer.norm, w, at + "ffn")
            copy(self.embedding.weight, w["input.embedding.weight"])
            copy(self.bias, w["head.out.bias"])

    def copy(to, value):
        with torch.no_grad():
            to.copy_(value.reshape(to.shape))

    def load_norm(norm, w, at):
        copy(norm.weight, w[at + ".gain"]), copy(norm.bias, w[at + ".bias"])

    def load_linear(linear, w, at):
        copy(linear.weight, w[at + ".weight"]), copy(linear.bias, w[at + ".bias"])

    def load_ffn(up, down, norm, w, at):
        load_linear(up, w, at + ".up"), load_linear(down, w, at + ".down"), load_norm(norm, w, at + ".norm")

    def load_phase(phase, w, at):
        for name in "qkvo":
            copy(getattr(phase, name).weight, w[f"{at}.{name}.weight"])
        load_norm(phase.norm, w, at + ".norm")

    def load_ends(model, w):
        if model.input.linear:
            load_linear(model.input.linear, w, "input.linear")
        if model.input.embedding:
            copy(model.input.embedding.weight, w["input.embedding.weight"])
        if model.input.position:
            copy(model.input.position.weight, w["input.position.weight"])
        if model.head.hidden:
            load_linear(model.head.hidden, w, "head.hidden")
        load_linear(model.head.out, w, "head.out")

    return {"star": Star, "full": Full, "causal": Causal, "tree": Tree, "edges": Edges, "dense": Dense, "maximum": maximum}
