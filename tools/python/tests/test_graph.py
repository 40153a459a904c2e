"""Topologies and graphs: what they hold, how they are written, what they refuse."""

import ctypes
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
from support import BUILD, ROOT, Case, compiled

import gsa
from gsa import _library as L

try:
    import scipy.sparse
except ImportError:
    scipy = None
try:
    import networkx
except ImportError:
    networkx = None

EDGES = np.array([[4, 0, 1, 2, 2, 0], [3, 0, 0, 1, 1, 3]])


class Graphs(Case):
    def test_a_batch_is_the_union_of_its_examples(self):
        g = gsa.topology("window:width=3").graph([3, 2])
        row, source, label = g.phase("attend").coo()
        self.assertEqual(list(zip(row, source)), [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1),
                                                  (2, 2), (3, 3), (3, 4), (4, 3), (4, 4)])
        self.assertEqual(g.offsets(0).tolist(), [0, 3, 5])
        self.assertFalse(label.any())

    def test_own_edges_keep_their_order_in_a_row(self):
        g = gsa.graph(EDGES, rows=5, label=[0, 1, 2, 0, 1, 2])
        row, source, label = g.phase().coo()
        order = g.order
        np.testing.assert_array_equal(EDGES[:, order], [source, row])
        np.testing.assert_array_equal(label, np.array([0, 1, 2, 0, 1, 2])[order])
        self.assertEqual(row.tolist(), sorted(EDGES[1].tolist()))

    def test_int32_and_lists_are_edges_too(self):
        for edges in (EDGES.astype(np.int32), EDGES.tolist(), (EDGES[0], EDGES[1])):
            self.assertEqual(gsa.graph(edges, rows=5).phase().edges, 6)

    @unittest.skipUnless(scipy, "no SciPy")
    def test_scipy_goes_both_ways(self):
        m = scipy.sparse.random(7, 5, density=.4, random_state=1, format="csr")
        back = gsa.graph(m).phase().to_scipy()
        self.assertEqual((back != (m != 0)).nnz, 0)
        self.assertEqual(back.shape, (7, 5))

    @unittest.skipUnless(networkx, "no NetworkX")
    def test_networkx_has_the_edges_from_source_to_row(self):
        n = gsa.graph(EDGES, rows=5).phase().to_networkx()
        self.assertEqual(sorted(n.edges()), sorted(zip(*EDGES.tolist())))

    @unittest.skipUnless(networkx, "no NetworkX")
    def test_a_graph_is_saved_as_graphml(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.graphml")
            gsa.graph(EDGES, rows=5).save(path)
            self.assertEqual(networkx.read_graphml(path).number_of_edges(), 6)
            gsa.topology("star").graph([4, 6]).save(path, example=1)
            self.assertEqual(networkx.read_graphml(path).number_of_edges(), 37)

    def test_the_caller_may_fill_his_lists_anew(self):
        tokens, lengths = [["a", "b", "c"]], np.array([3], np.int32)
        g = gsa.topology("star").graph(lengths, text=iter(tokens))
        held = gsa.topology("star").graph(lengths, text=tokens)
        tokens[0].clear()
        lengths[0] = 9
        with tempfile.TemporaryDirectory() as folder:
            for graph in g, held:
                path = os.path.join(folder, "x.dot")
                graph.save(path)
                with open(path, encoding="utf-8") as file:
                    self.assertIn('"a', file.read())
                self.assertEqual(graph.lengths.tolist(), [3])
                graph.text[0].clear()
                graph.lengths[0] = 9
                graph.save(path)
                with self.assertRaises(AttributeError):
                    graph.lengths = [9]

    def test_what_a_run_or_the_pattern_needs_is_not_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            read, result = (os.path.join(folder, name) for name in ("in.dot", "result.json"))
            for path in read, result, os.path.join(folder, "latest"):
                pathlib.Path(path).write_text("good\nbad\n")
            spec = f"char_word:lexicon={read}"
            g = gsa.topology(spec).graph([4], text=[list("good")])
            with self.assertRaisesRegex(gsa.ArgumentError, "the pattern was read from it"):
                g.save(read)
            for name in result, os.path.join(folder, "report.json"):
                with self.assertRaisesRegex(gsa.ArgumentError, "it is of a run, which needs it"):
                    g.save(name)
            kept = os.path.join(folder, "sweep.json")
            pathlib.Path(kept).write_text('{"run": "seed-1"}\n')
            with self.assertRaisesRegex(gsa.ArgumentError, "it holds the results of runs"):
                g.save(kept)
            last = os.path.join(folder, "last")
            os.mkdir(os.path.join(folder, "film"))
            pathlib.Path(folder, "film", "config.ini").touch()
            pathlib.Path(last).write_text("film\n")
            os.symlink(last, os.path.join(folder, "last.dot"))
            with self.assertRaisesRegex(gsa.ArgumentError, "it says which run was the last"):
                g.save(os.path.join(folder, "last.dot"))
            self.assertEqual(pathlib.Path(read).read_text(), "good\nbad\n")
            with self.assertRaisesRegex(gsa.ArgumentError, "heads"):
                gsa.topology("head_area").graph([3], heads=2**31 - 1)

    def test_pickles_are_the_same_graph(self):
        star = gsa.topology("star").graph([4, 6])
        labelled = gsa.graph(EDGES, rows=5, label=[0, 1, 2, 0, 1, 2], labels=4)
        for g in (star, labelled, gsa.graph([[0, 5], [1, 0]], rows=2, sources=6)):
            back = pickle.loads(pickle.dumps(g))
            np.testing.assert_array_equal(g.order, back.order)
            self.assertEqual([p.labels for p in g.phases], [p.labels for p in back.phases])
            for p, q in zip(g.phases, back.phases):
                for a, b in zip(p.coo(), q.coo()):
                    np.testing.assert_array_equal(a, b)

    def test_a_pattern_by_text_takes_the_tokens(self):
        t = gsa.topology("char_word:local=adjacent")
        self.assertGreater(t.graph([2], text=[["a", "b"]]).phases[0].edges, 0)
        self.refused("text: examples of [1] tokens, lengths are [2]", t.graph, [2], text=[["a"]])

    def test_a_plugin_is_a_topology(self):
        source = os.path.join(ROOT, "topologies", "template", "logsparse.c")
        with tempfile.TemporaryDirectory() as folder:
            include, out = os.path.join(folder, "gsa"), os.path.join(folder, "logsparse.so")
            os.symlink(os.path.join(ROOT, "graph"), include)
            with open(source, encoding="utf-8") as file:
                compiled(file.read(), out, "-I", folder)
            t = gsa.topology("logsparse", plugin=out)
            self.assertEqual(pickle.loads(pickle.dumps(t)).graph(9).phase().rows, 9)
            self.assertIn("no topology", str(self._why("nothing", out)))

    def _why(self, spec, plugin):
        with self.assertRaises(gsa.ArgumentError) as caught:
            gsa.topology(spec, plugin=plugin)
        return caught.exception


@unittest.skipUnless(hasattr(os, "fork"), "no fork")
class Forks(Case):
    def test_a_child_of_threads_that_build_graphs_builds_graphs(self):
        t, busy, ended = gsa.topology("window:width=3"), [True], []
        def build():
            while busy:
                t.graph(range(1, 200))  # the cache is locked for each example
        threads = [threading.Thread(target=build) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                again = os.fork()
                if again:
                    os._exit(os.waitpid(again, 0)[1] != 0)
                os._exit(t.graph([3]).phase().edges != 7)
            ended.append(os.waitpid(child, 0)[1])
            if ended[-1]:
                break
        busy.clear()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(ended), 0)


class Refusals(Case):
    def test_every_bad_edge_list_is_one_sentence(self):
        self.refused("edge 4 into row 0: source 5 is not in 0 .. 4, the nodes that row can read",
                     gsa.graph, [[0, 1, 2, 3, 5], [1, 1, 1, 1, 0]], rows=5)
        self.refused("edge 1: destination -1 is not in 0 .. 4, the rows",
                     gsa.graph, [[0, 1], [1, -1]], rows=5)
        self.refused("edges: whole numbers were expected, not float64",
                     gsa.graph, [[0., 1.], [1., 0.]], rows=5)
        self.refused("edges: sources and destinations were expected, as [2, count], not 3 rows",
                     gsa.graph, [[0], [1], [2]], rows=5)
        self.refused("rows, the number of destination nodes, must be given", gsa.graph, EDGES)
        self.refused("edges: (2,) sources and (1,) destinations", gsa.graph, ([0, 1], [1]), rows=5)
        class Web(dict):  # as NetworkX has them
            edges = ()
        for bad in (None, 3, Web()):
            self.refused(f"edges is a {type(bad).__name__}; [2, count], a SciPy matrix or a DGL "
                         f"graph was expected", gsa.graph, bad, rows=2)
        self.refused("edges: whole numbers were expected, not uint64", gsa.graph,
                     np.array([[2**63], [0]], np.uint64), rows=2)
        self.refused("edges: whole numbers were expected, not object", gsa.graph,
                     [[[0], [1, 2]], [0, 1]], rows=2)
        for name in ("example_rows", "example_sources"):
            for bad in (5, [[0, 5]], [0]):
                self.refused(f"{name} has shape {np.shape(bad)}; [examples + 1] was expected",
                             gsa.graph, EDGES, rows=5, **{name: bad})
        for sources in ({}, {"sources": 5}, {"example_rows": [0, 5]}):
            self.refused("example_sources: sources and example_rows were expected, too", gsa.graph,
                         EDGES, rows=5, example_sources=[0, 5], **sources)

    @unittest.skipUnless(scipy, "no SciPy")
    def test_a_sparse_vector_is_no_matrix(self):
        self.refused("edges: a matrix of shape (3,); [rows, sources] was expected", gsa.graph,
                     scipy.sparse.coo_array(np.array([1., 0, 2])))
        self.refused("label: shape (2,), expected (6,), one for each edge",
                     gsa.graph, EDGES, rows=5, label=[0, 1])
        self.refused("edge 1 into row 0: label 3 is not in 0 .. 1",
                     gsa.graph, EDGES, rows=5, label=[0, 3, 0, 0, 0, 0], labels=2)
        self.refused("edge 0: destination 3 is not in 0 .. -1, the rows", gsa.graph, EDGES, rows=0)

    def test_a_spec_and_lengths_are_checked(self):
        self.refused("'star*2' is a stack, and a graph is of one pattern in one layer: expected "
                     "one name with its settings, as window:width=11", gsa.topology, "star*2")
        self.refused(f"example 0: topology 'window', length {2**28}: {2**28} nodes of input and "
                     f"memory, the limit is {2**25}", gsa.topology("window").graph, [2**28])
        self.refused("lengths: -1 .. 3 is not in 0 .. 2^31-1", gsa.topology("star").graph, [3, -1])
        self.refused("lengths: whole numbers in one dimension were expected, not float64 of shape "
                     "(1,)", gsa.topology("star").graph, [3.5])

    def test_a_graph_is_not_made_by_hand(self):
        sentence = "gsa.graph or gsa.topology(SPEC).graph makes a Graph"
        self.refused(sentence, gsa.Graph, "window:width=3", [8, 5])
        self.refused(sentence, gsa.Graph, 5, 3)

    def test_a_text_ends_at_no_zero(self):
        for call in (gsa.topology, gsa.load):
            self.refused("'star\\x00x' holds a zero character", call, "star\0x")

    def test_a_closed_graph_says_so(self):
        g = gsa.graph(EDGES, rows=5)
        p = g.phase()
        g.close()
        q = np.zeros((5, 1, 2), np.float32)
        self.refused("the graph was closed", gsa.attend, q, q, q, g)
        self.refused("the graph was closed", p.coo)
        self.refused("the graph was closed", pickle.dumps, g)

        for call in (g.nodes, g.offsets, g.node_example, g.node_local, g.summary_nodes):
            self.refused("the graph was closed", call, 0)

    def test_a_number_that_c_would_cut_is_refused(self):
        """ctypes keeps the low bits of a number that is too large."""
        star, g = gsa.topology("star"), gsa.graph(EDGES, rows=5)
        x = np.zeros((5, 1, 2), np.float32)
        for bad in (2**40, -1, "2", 2.5):
            whole = "; a whole number from"
            self.refused(f"threads is {bad!r}{whole} 0 to 4096 was expected", gsa.attend, x, x, x,
                         g, threads=bad)
            self.refused(f"heads is {bad!r}{whole} 1 to 4096 was expected", star.graph, [4],
                         heads=bad)
            self.refused(f"rows is {bad!r}{whole} 0 to 2^31-1 was expected", gsa.graph, EDGES,
                         rows=bad)
            self.refused(f"sources is {bad!r}{whole} 0 to 2^31-1 was expected", gsa.graph, EDGES,
                         rows=5, sources=bad)
            self.refused(f"labels is {bad!r}{whole} 0 to 2^31-1 was expected", gsa.graph, EDGES,
                         rows=5, labels=bad)
            self.refused(f"example is {bad!r}{whole} 0 to 0 was expected", g.save, "/x.dot", bad)
            for call in (g.nodes, g.offsets, g.node_example, g.node_local, g.summary_nodes):
                self.refused(f"kind is {bad!r}{whole} 0 to 0 was expected", call, bad)
            self.refused(f"seed is {bad!r}{whole} 0 to 2^32-1 was expected", gsa.attend, x, x, x, g,
                         dropout=.1, seed=bad)
        for label in (2**31 - 1, 2**31, 2**40):
            self.refused(f"label: {label} .. {label} is not in 0 .. 2^31-2", gsa.graph, [[1], [0]],
                         rows=5, label=[label])
        self.refused("seed is None; a whole number from 0 to 2^32-1 was expected", gsa.attend, x, x,
                     x, g, dropout=.1, seed=None)

    def test_a_text_is_one_that_utf8_has(self):
        self.refused("'st\\udcffar' is no text of UTF-8", gsa.topology, "st\udcffar")
        t = gsa.topology("char_word:local=adjacent")
        self.refused("'\\udcff' is no text of UTF-8", t.graph, [1], text=[["\udcff"]])
        self.refused("text: 3 is a int; tokens are str", t.graph, [1], text=[[3]])
        self.refused("text is a int; lists of tokens were expected", t.graph, [1], text=3)
        self.refused("text is a int; tokens were expected", t.graph, [1], text=[3])
        self.refused("plugin is a int; paths were expected", gsa.topology, "star", 3)
        self.refused("plugin is a bytes; a str was expected", gsa.topology, "star", b"x.so")
        self.refused("spec is a int; a str was expected", gsa.topology, 3)
        self.refused("path is a int; a str was expected", t.graph([1], text=[["a"]]).save, 3)

    def test_phases_are_named(self):
        g = gsa.topology("star").graph([4])
        self.refused("star has 2 phases that attend (down, up): say which", g.phase)
        self.refused("star has no phase 'ring'; its phases are down, up", g.phase, "ring")
        self.refused("phase is a ndarray; a name, a number or a Phase of the graph was expected",
                     g.phase, np.arange(3))


    def test_arrays_may_begin_anywhere(self):
        def odd(x):
            return np.frombuffer(b"x" + x.tobytes(), x.dtype, offset=1).reshape(x.shape)
        for kind in (np.int32, np.int64, np.float32, np.float64):
            x = odd(np.arange(6, dtype=kind).reshape(2, 3))
            self.assertFalse(x.flags.aligned)
            self.assertTrue(L.aligned(x).flags.aligned and L.aligned(x).flags.c_contiguous)
            np.testing.assert_array_equal(L.aligned(x), x)
        g = gsa.graph(odd(EDGES), rows=5, label=odd(np.array([0, 1, 2, 0, 1, 2], np.int32)))
        q = np.linspace(-1, 1, 5 * 2 * 4).reshape(5, 2, 4)
        same = gsa.graph(EDGES, rows=5, label=[0, 1, 2, 0, 1, 2])
        np.testing.assert_array_equal(gsa.attend(odd(q), odd(q), q, g), gsa.attend(q, q, q, same))
        self.refused("q is object; all arrays must be float32, or all float64", gsa.attend, None,
                     q, q, g)
        self.refused("v is object; all arrays must be float32, or all float64", gsa.aggregate,
                     None, g)

    def test_a_daemon_thread_attends_while_the_interpreter_ends(self):
        code = ("import gsa, numpy as np, threading, time\n"
                "g = gsa.topology('window:width=31').graph([4000])\n"
                "q = np.random.rand(4000, 8, 64).astype('f4')\n"
                "begun = threading.Event()\n"
                "def work():\n"
                "    while True: gsa.attend(q, q, q, g, threads=1), begun.set()\n"
                "threading.Thread(target=work, daemon=True).start()\n"
                "begun.wait()\n")
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Libraries(Case):
    def _import(self, library):
        return subprocess.run([sys.executable, "-c", "import gsa"], capture_output=True, text=True,
                              env={**os.environ, "GSA_LIBRARY": library}).stderr

    def test_an_old_library_is_one_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            old = os.path.join(folder, "old.so")
            compiled("int gsa_registry_create(void) { return 0; }", old)
            self.assertIn(f"ImportError: gsa: the library {old} has no gsa_registry_load: it is "
                          f"older than this package", self._import(old))

    def test_a_missing_library_is_one_sentence(self):
        self.assertIn("ImportError: gsa: the shared library could not be loaded: /nowhere.so",
                      self._import("/nowhere.so"))


class Layout(Case):
    """Structures that calls pass by address stand here as the headers have them."""

    STRUCTURES = {"gsa_slice": L._Slice, "gsa_error": L._Error, "gsa_sequences": L._Sequences,
                  "gsa_edge_list": L._EdgeList, "gsa_kind": L._Kind, "gsa_phase": L._Phase,
                  "gsa_param": L._Param, "gsa_topology": L._Topology,
                  "gsa_apply_options": L._ApplyOptions, "gsa_prediction": L._Prediction,
                  "gsa_progress": L._Progress}
    NESTED = {name: f"policy.{name}" for name in ("own", "trusts", "mark", "other", "zero")}
    CALL = ("struct_size phase heads head_dim scale q k v key_labels bias dropout seed step site add "
            "number out lse weights dout dq dk dv dkey_labels dbias").split()

    def test_sizes_and_places_are_those_of_the_headers(self):
        wanted, asked = [], []
        for name, mirror in self.STRUCTURES.items():
            nested = self.NESTED if name == "gsa_apply_options" else {}
            for field, *_ in mirror._fields_:
                asked.append(f"offsetof({name}, {nested.get(field, field)})")
                wanted.append(getattr(mirror, field).offset)
            asked.append(f"sizeof({name})")
            wanted.append(ctypes.sizeof(mirror))
        codes = L.CALL.format[1:]
        self.assertEqual(len(codes), len(self.CALL))
        for i, field in enumerate(self.CALL):
            asked.append(f"offsetof(gsa_attention, {field})")
            wanted.append(struct.calcsize("@" + codes[:i + 1]) - struct.calcsize(codes[i]))
        asked.append("sizeof(gsa_attention)")
        wanted.append(L.CALL.size)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "layout.so")
            compiled("#include <gsa/attend.h>\n#include <gsa/predictor.h>\n#include <stddef.h>\n"
                     f"const long gsa_layout[] = {{ {', '.join(asked)} }};\n", out, "-I",
                     os.path.join(BUILD, "include"))
            found = list((ctypes.c_long * len(asked)).in_dll(ctypes.CDLL(out), "gsa_layout"))
        self.assertEqual(dict(zip(asked, found)), dict(zip(asked, wanted)))


if __name__ == "__main__":
    unittest.main()
