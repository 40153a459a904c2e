#!/usr/bin/env bash
# own_plugin.sh BUILD PLACE - the command finds its own plugin in the build tree and in an installation (PLACE: the plugins' folder as seen
# from the program's), says where it looked when it is not there, and makes way for a --plugin of that name.
set -euo pipefail
build=$1 place=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '0 1\n1 2\n' >edges.txt
printf '%s' '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>' >pair.graphml

fail() { echo "$1"; cat log; exit 1; }
run() { "$@" >out 2>log; }
must_say() { grep -qF -- "$1" log || fail "no word of: $1"; }

gsa=$build/gsa
run "$gsa" graph --topology file:path=edges.txt --length 3 --out a.mtx || fail "not found in the build tree"
must_say "3 nodes, 2 edges"
{ run "$gsa" topologies && grep -q '^file - ' out; } || fail "not listed"

mkdir -p usr/bin "usr/bin/$place"
cp "$gsa" usr/bin/gsa
gsa=$folder/usr/bin/gsa
run "$gsa" graph --topology file:path=edges.txt --length 3 && fail "found where nothing is"
must_say "'file' is a plugin and is neither"
must_say "$place/file.so"
run "$gsa" graph --topology star --length 3 || fail "the others must not miss it"
run "$gsa" graph --plugin "$build/topologies/file.so" --topology file:path=edges.txt --length 3 || fail "--plugin"

cp "$build/topologies/file.so" "usr/bin/$place/"
run "$gsa" graph --topology file:path=edges.txt --length 3 || fail "not found in the installation"
run "$gsa" graph --plugin "$build/topologies/file.so" --topology file:path=edges.txt --length 3 || fail "two of one name"
run "$gsa" graph --topology file:path=pair.graphml --length 2 && fail "GraphML without its reader"
must_say "this build has no reader for it"
if [ -e "$build/topologies/graphml.so" ]; then
    cp "$build/topologies/graphml.so" "usr/bin/$place/"
    run "$gsa" graph --topology file:path=pair.graphml --length 2 || fail "GraphML"
    must_say "2 nodes, 1 edges"
fi
run "$build/gsa" topology check "$build/topologies/file.so:path=edges.txt" || fail "topology check"
run "$build/gsa" topology check "file:path=$folder/edges.txt" || fail "topology check by name"
echo "found, missed with a sentence, replaced"
