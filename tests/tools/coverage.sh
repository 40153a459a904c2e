#!/usr/bin/env bash
# coverage.sh --all | --readers - lines and branches that the suites reach (gcovr). Assertions are left out: no test may fail one.
#   --all      each suite that reaches lines of its own, by folder: red under 95 % of lines or
#              85 % of branches of all folders together. Threads lose counts of each other there:
#              exact ones cost three times the time.
#   --readers  what reads foreign bytes and judges graphs, by its own suites alone: red where a line or a branch of them is not reached. Nothing is
#              inlined, so that a branch is one of its file.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$root"
readers=(graph/edges.c graph/utf8.c gsa/{safetensors,safetensors_header,manifest,checkpoint_find,vocabulary}.c topologies/{spec,lexicon}.c
    train/driver/state.c train/settings/{ini,recipe}.c train/data/{text,conll,pairs,nodes,parallel,objects,json,reading,stream}.c
    train/vocabulary/vectors.c)
suites=(edges system char_word limits_255 readers spec lexicon safetensors safetensors_writer checkpoint checkpoint_faults checkpoint_saving vocabulary recipe recipe_written text conll
    pairs nodes stream parallel reading state ends)
others='cases|killed|power_loss|threads|gradients|graphs|baselines|many|char_word.edges' # cases of these suites that read nothing
case ${1:---all} in
--all)
    folder=build/coverage flags="-O1 -DGSA_TEST_THIN -fprofile-update=single" targets=(all)
    left_out='^(header|simt|cuda|docs|browser|views|gpu_check|guarded|networkx|locales)'
    tests=(-E "$left_out|^memory\.lookup|learns|waits\$|stack\$")
    filters=(-f graph/ -f gsa/ -f kernels/ref/ -f kernels/cpu/ -f topologies/ -f train/ -f tools/command/)
    ;;
--readers)
    folder=build/readers flags="-Og -fno-inline -fprofile-update=atomic" targets=("${suites[@]/#/test_}")
    tests=(-R "^($(IFS='|' && echo "${suites[*]}"))\\." -E "($others)\$")
    filters=() && for reader in "${readers[@]}"; do filters+=(-f "$reader\$"); done
    ;;
*) fail "'$1' is no option, expected --all or --readers" ;;
esac
mkdir -p build/parts
need_packages "${packages_build[@]}" "${packages_test[@]}" ninja-build gcovr
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="$flags --coverage" \
    -DGSA_TESTS=ON -DGSA_CUDA=OFF -DGSA_EMULATED=OFF -DGSA_MPI=OFF -DGSA_LEVELS=avx2 -DCMAKE_CXX_COMPILER=NOTFOUND \
    >"$folder.log" 2>&1 || fail "$(tail -5 "$folder.log")"
cmake --build "$folder" -j "$(cores)" --target "${targets[@]}" >"$folder.log" 2>&1 || fail "$(grep -A 5 error: "$folder.log" | head -40)"
find "$folder" \( -name '*.gcda' -o -name '*.gcov' \) -delete
ctest --test-dir "$folder" -LE guard "${tests[@]}" -j "$(cores)" --no-tests=error >"$folder.log" 2>&1 || grep -A 30 'tests passed' "$folder.log"
gcovr -j "$(cores)" -r . --object-directory "$folder" "$folder" --exclude-lines-by-pattern '\s*assert\(' --gcov-ignore-parse-errors "${filters[@]}" \
    --json "$folder.json" >"$folder.log" 2>&1 || fail "$(tail -5 "$folder.log")"
python3 - "$folder.json" "$1" <<'END' | tee "build/parts/coverage.sh $1.log"
import json
import sys

with open(sys.argv[1], encoding="utf-8") as report:
    files = json.load(report)["files"]


def counts(some):
    """Lines and branches: reached, all."""
    lines = [line for one in some for line in one["lines"] if not line.get("gcovr/noncode") and not line.get("gcovr/excluded")]
    branches = [branch["count"] for line in lines for branch in line["branches"]]
    return sum(line["count"] > 0 for line in lines), len(lines), sum(n > 0 for n in branches), len(branches)


def share(some):
    lines, of_lines, branches, of_branches = counts(some)
    return f"{100 * lines / of_lines:.2f} % of {of_lines} lines, {100 * branches / of_branches:.2f} % of {of_branches} branches"


def name_missed(one):
    for line in one["lines"]:
        missed = [n for n, branch in enumerate(line["branches"]) if branch["count"] == 0]
        if not line.get("gcovr/noncode") and not line.get("gcovr/excluded") and (line["count"] == 0 or missed):
            print(f"{one['file']}:{line['line_number']}: " + (f"branches {missed}" if line["count"] else "the line") + " not reached")


lines, of_lines, branches, of_branches = counts(files)
if sys.argv[2] == "--all":
    for folder in sorted({one["file"].rsplit("/", 1)[0] for one in files}):
        print(f"{folder:28} {share([one for one in files if one['file'].rsplit('/', 1)[0] == folder])}")
    print(f"coverage: {share(files)}, {len(files)} files")
    sys.exit(lines < 0.95 * of_lines or branches < 0.85 * of_branches)
for one in files:
    name_missed(one)
print(f"readers: {share(files)}, {len(files)} files")
sys.exit(lines < of_lines or branches < of_branches)
END
