#!/usr/bin/env bash
# coverage.sh - lines and branches that the suites reach, by folder and for each reader of foreign bytes (gcovr). Red is
# under 95 % of lines or 85 % of branches of all folders together, or under 99 % and 94 % of the readers. Assertions are
# left out: no test may fail one. Takes about 8 minutes on two cores.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$root"
folder=build/coverage
mkdir -p build/parts
need_packages "${packages_build[@]}" "${packages_test[@]}" ninja-build gcovr
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 --coverage -fprofile-update=atomic" \
    -DCMAKE_CXX_FLAGS_DEBUG="-O1 --coverage" -DGSA_TESTS=ON -DGSA_CUDA=OFF -DGSA_EMULATED=OFF -DGSA_MPI=OFF -DGSA_LEVELS=avx2 -DCMAKE_CXX_COMPILER=NOTFOUND \
    >"$folder.log" 2>&1 || fail "$(tail -5 "$folder.log")"
cmake --build "$folder" -j "$(cores)" >"$folder.log" 2>&1 || fail "$(grep -A 5 error: "$folder.log" | head -40)"
find "$folder" -name '*.gcda' -delete
ctest --test-dir "$folder" -LE guard -E '^(header|simt|cuda|docs|browser)' -j "$(cores)" --no-tests=error >"$folder.log" 2>&1 ||
    grep -A 30 'tests passed' "$folder.log"
gcovr -j "$(cores)" -r . --object-directory "$folder" --exclude-lines-by-pattern '\s*assert\(' --gcov-ignore-parse-errors \
    -f graph/ -f gsa/ -f kernels/ref/ -f kernels/cpu/ -f topologies/ -f train/ -f tools/command/ --json-summary "$folder.json" >"$folder.log" 2>&1
python3 - "$folder.json" <<'END' | tee build/parts/coverage.sh.log
import json
import sys
FOLDERS = ["graph", "gsa", "kernels/ref", "kernels/cpu", "topologies", "train", "tools/command"]
PARSERS = ["graph/edges.c", "graph/utf8.c", "gsa/safetensors.c", "gsa/safetensors_header.c", "gsa/manifest.c", "gsa/checkpoint_find.c",
           "gsa/vocabulary.c", "topologies/spec.c", "topologies/lexicon.c", "train/driver/state.c", "train/settings/ini.c", "train/settings/recipe.c",
           "train/data/text.c", "train/data/conll.c", "train/data/pairs.c", "train/data/nodes.c", "train/data/parallel.c", "train/data/objects.c",
           "train/data/reading.c", "train/data/stream.c", "train/vocabulary/vectors.c"]
with open(sys.argv[1], encoding="utf-8") as file:
    files = json.load(file)["files"]


def reached(some):
    return [100 * sum(one[f"{what}_covered"] for one in some) / max(1, sum(one[f"{what}_total"] for one in some)) for what in ("line", "branch")]


for name in FOLDERS + PARSERS:
    some = [one for one in files if one["filename"] == name or one["filename"].startswith(name + "/")]
    print(f"{name:28} lines {reached(some)[0]:6.2f} %, branches {reached(some)[1]:6.2f} %")
parsers = [one for one in files if one["filename"] in PARSERS]
print("parsers: {:.1f} % of lines, {:.1f} % of branches, {} files".format(*reached(parsers), len(parsers)))
line, branch = reached(files)
print(f"coverage: {line:.2f} % of lines, {branch:.2f} % of branches, {len(files)} files")
of_parsers = reached(parsers)
sys.exit(line < 95 or branch < 85 or of_parsers[0] < 99 or of_parsers[1] < 94 or len(parsers) < len(PARSERS))
END
