#!/usr/bin/env bash
# gpu_check.sh SOURCE - every branch of tools/gpu-check and of what it makes of other scripts' words,
# without a device: the compiler, the build and the programs are stubs that do as they are told
# (STUB_*). The files that it writes are read by a JSON parser at each turn.
# shellcheck disable=SC2016 # what stubs expand
set -euo pipefail
source=$1
reader=$(command -v python3) || { echo "no python3: nobody reads the JSON"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/stubs" "$work/programs" "$work/few" "$work/packages/usr/lib/pkgconfig" "$work/sst"
checks=0

fail()
{
    echo "FAILED: $*" >&2
    tail -n 40 "$work/said" >&2 || true
    for file in "$work"/check/*.json; do grep -E '"failed"|"status": [1-9]|"why"' "$file" >&2 || true; done
    exit 1
}

# What each program does first: STUB_BROKEN="NAME HOW" breaks the one of that name.
broken='if [ "${STUB_BROKEN% *}" = "${0##*/}" ]; then
    case ${STUB_BROKEN#* } in
        library) echo "$0: error while loading shared libraries: libx.so: cannot open shared object file" >&2; exit 127 ;;
        exit-1) exit 1 ;;
        exit-127) exit 127 ;;
        silent) exit 0 ;;
        hang) exec sleep 60 ;;
    esac
fi'

# stub FOLDER NAME TEXT
stub()
{
    printf '#!/usr/bin/env bash\n%s\n%s\n' "$broken" "$3" >"$work/$1/$2"
    chmod +x "$work/$1/$2"
}

# ---- the programs, as the build leaves them ----
stub programs test_cuda_device '
[ "${STUB_NO_DEVICE:-0}" -eq 0 ] || [ "${1:-}" = --list ] || { echo "skipped: cuda: no device: a \"stub\" has none"; exit 77; }
case ${1:-} in
    --list) printf "%s\n" coverage table dims special hubs graphs large ;;
    "${STUB_FAILS:-}") echo "FAILED: it differs"; exit 1 ;;
    "${STUB_HANGS:-}") sleep 60 ;;
    *) echo "Checks: 3, Failures: 0" ;;
esac'
stub programs test_plan_device 'echo "Checks: 5, Failures: 0"'
stub programs test_steps_device '[ "${STUB_NO_DEVICE:-0}" -eq 0 ] || exit 77; echo "Checks: 8, Failures: 0"'
stub programs test_train_device '[ "${STUB_NO_DEVICE:-0}" -eq 0 ] || exit 77; echo "Checks: 7, Failures: 0"'
stub programs gpu_bench '
[ "${1:-}" = --list ] && { printf "%s\n" ring-8x1-2x4 star-8x1-2x4; exit; }
[ "${STUB_NO_DEVICE:-0}" -eq 0 ] || { echo "gpu_bench: skipped: no device" >&2; exit 77; }
echo "{\"card\": \"a stub\", \"copy_gb_s\": 1.0}"; echo "{\"spec\": \"$1\", \"ms\": 0.5, \"share\": 0.5, \"binds\": \"bytes\", \"bytes\": 8}"'
stub programs gsa '
[ "${STUB_NO_DEVICE:-0}" -eq 0 ] || case "$*" in *"--device cuda"*) echo "gsa: cuda: no device: a stub has none" >&2; exit 1 ;; esac
while [ $# -gt 0 ]; do case $1 in --out) out=$2 ;; --json) json=$2 ;; --device) device=$2 ;; esac; shift; done
[ -n "${device:-}" ] || { echo "usage: gsa COMMAND"; exit; }
[ "$device" != "${STUB_FULL:-}" ] || { echo "gsa: cuda: no memory" >&2; exit 1; }
loss=1.5
[ "$device" != "${STUB_STRAYS:-}" ] || loss=1.6
[ -z "${json:-}" ] || printf "{\n \"cases\": []\n}\n" >"$json"
[ -z "${out:-}" ] || { mkdir -p "$out"; for i in 1 2; do echo "{\"kind\":\"step\",\"step\":$i,\"loss\":$loss,\"lr\":1}"; done >"$out/log.jsonl"; }'

# ---- the machine ----
stub stubs cmake '
case $1 in
    -S) echo "configures $PKG_CONFIG_LIBDIR" ; [ "${STUB_BUILD:-good}" != unconfigured ] || { echo "no CUDA toolkit" >&2; exit 1; }
        while [ $# -gt 0 ]; do [ "$1" != -B ] || echo "$2" >"$STUB_WORK/build"; shift; done ;;
    --build) to=$(cat "$STUB_WORK/build"); [ "${STUB_BUILD:-good}" != broken ] || { echo "error: no such thing" >&2; exit 1; }
        rm -f "$to"/gsa "$to"/gpu_bench "$to"/test_*; cp "$STUB_WORK"/programs/* "$to"
        [ "${STUB_BUILD:-good}" != few ] || rm "$to/gsa" "$to/test_train_device" "$to/test_steps_device" ;;
esac'
stub stubs nvcc '[ "$1" != --version ] || { echo "Cuda compilation tools, release 0.0"; echo "Build stub"; exit; }
case " $* " in *" --cubin "*) ;; *) exit 1 ;; esac
echo "ptxas info    : Compiling entry function '"'_Z4stubv'"' for '"'sm_90'"'" >&2
echo "    ${STUB_STACK:-0} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" >&2
echo "ptxas info    : Used 32 registers" >&2'
stub stubs nvidia-smi '[ "${STUB_NO_DEVICE:-0}" -eq 0 ] || exit 9
case "$*" in *compute_cap*) echo 9.0 ;; *) echo "A stub of a GPU, 1.2, 3 MiB" ;; esac'
stub stubs compute-sanitizer '[ "${STUB_REFUSES:-0}" -eq 0 ] || { echo "Error: Device not supported"; exit 1; }
words=" $* "
while [ "${1#--}" != "$1" ]; do shift 2; done
"$@" || exit
case $words in
    *" --tool ${STUB_FINDS:-nothing} "*" special ") echo "========= Invalid __global__ write of size 4 bytes"; exit 9 ;;
    *" --report-api-errors no "*) ;;
    *" --tool memcheck "*" graphs ") echo "========= Program hit error 910 on CUDA API call to cudaGraphExecUpdate"; exit 9 ;;
esac'
stub stubs python3 '
case "$*" in
    -c*) exit 1 ;;
    *step_peers.py\ --list) [ "${STUB_BROKEN:-}" != "step_peers.py silent" ] || exit 0; printf "%s\n" one two ;;
    *) [ "${STUB_TORCH:-1}" -eq 1 ] || { echo "peers.py: nothing is timed: No module named torch" >&2; exit 77; }
       echo "{\"peer\": \"PyTorch eager\", \"ms\": 1.0, \"forward_ms\": 2.0}" ;;
esac'
export STUB_WORK=$work GPU_CHECK_BUILD=$work/folder
base=$work/stubs:/usr/bin:/bin

# turn STATUS WORDS...: runs it so, and reads what it wrote
turn()
{
    local wanted=$1 status=0
    shift
    (cd "$work" && PATH=$base "$source/tools/gpu-check" --out check "$@") >"$work/said" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || fail "$*: status $status, expected $wanted"
    "$reader" -c 'import glob, json, sys
for name in glob.glob(sys.argv[1] + "/*"): json.load(open(name))' "$work/check" || fail "$*: what it wrote is no JSON"
    checks=$((checks + 1))
}

# says TEXT: of the JSON; tells TEXT: on standard output
says()
{
    grep -qF -- "$1" "$work"/check/*.json || fail "the file does not say: $1"
    checks=$((checks + 1))
}
never()
{
    ! grep -qF -- "$1" "$work"/check/*.json || fail "the file says: $1"
    checks=$((checks + 1))
}
tells()
{
    grep -qF -- "$1" "$work/said" || fail "it does not tell: $1"
    checks=$((checks + 1))
}
steps()
{
    "$reader" -c 'import glob, json, sys
parts = [json.load(open(name)) for name in glob.glob(sys.argv[1] + "/*")]
print(sum(s["status"] == int(sys.argv[2]) for x in parts for s in x["steps"]), sum(len(x["left"]) for x in parts))' \
        "$work/check" "$1"
}
count()
{
    [ "$(steps "$1")" = "$2 $3" ] || fail "steps with status $1 and steps left: $(steps "$1"), expected $2 $3"
    checks=$((checks + 1))
}

touch "$work/sst/stsa.fine.train" "$work/sst/stsa.fine.dev"
# all there is: 2 of the build, 4 of the core, 2 kernels, 3 steps, 7 of training, 6 tests, 12 of the
# sanitizer, 2 peers
turn 0 --sst sst --packages packages
count 0 38 0
says '"gpu": "A stub of a GPU, 1.2, 3 MiB"'
says '"failed": []'
says '"binds": "bytes", "bytes": 8'
says '"peer": "PyTorch eager", "ms": 1.0'
says '"within": true'
says 'at most  32 registers'
[ "$(grep -o '^[a-z]* *[a-z]*' "$work/said" | awk '{ print $2 }' | uniq | tr '\n' ' ')" = \
    "build core kernels steps train tests sanitizer peers check " ] || fail "the order of the parts"
grep -qF "configures $work/packages/usr/lib/pkgconfig" "$work/folder/logs/build.programs.out" || fail "the packages are not told to the build"

# a part after the other, each in its own file
rm -rf "$work/check" "$work/folder"
turn 0 --part build
count 0 2 0
for part in core kernels steps train tests sanitizer peers; do
    [ ! -e "$work/check/$part.json" ] || fail "$part has a file before it ran"
    turn 0 --part $part --sst sst
    [ -s "$work/check/$part.json" ] || fail "$part has no file"
done
count 0 38 0
turn 0 --resume --sst sst
tells "kept     build programs"
tells "kept     steps two"
count 0 38 0

# each program broken in turn, in each way: red, and named
for program in test_cuda_device test_plan_device gpu_bench gsa test_train_device test_steps_device; do
    case $program in
        test_cuda_device) where="core tests sanitizer" ;;
        test_plan_device) where=core ;;
        gpu_bench) where="kernels peers" ;;
        gsa) where="steps train" ;;
        *) where=tests ;;
    esac
    words=()
    for part in $where; do words+=(--part "$part"); done
    for how in library exit-1 exit-127 silent; do
        STUB_BROKEN="$program $how" turn 1 "${words[@]}"
        for part in $where; do says "\"$part "; done
    done
    STUB_BROKEN="$program hang" GPU_CHECK_LIMIT=1 turn 1 --part "${where%% *}"
    says '"status": 124'
    turn 0 --resume "${words[@]}" --sst sst
    never "\"${where%% *} list\""
done
STUB_BROKEN="step_peers.py silent" turn 1 --part steps
says '"steps list"'
turn 0 --part steps

# a test that fails: all else is done, and the file names it; when it passes, it alone runs again
STUB_FAILS=hubs turn 1 --sst sst
says '"failed": ["core hubs"],'
says '"failed": ["sanitizer initcheck-hubs", "sanitizer memcheck-hubs", "sanitizer racecheck-hubs", "sanitizer synccheck-hubs"],'
says 'FAILED: it differs'
count 1 5 0
count 0 33 0
turn 0 --resume --sst sst
tells "passed   core hubs"
tells "kept     core table"
count 0 38 0

# a tool that finds something
for tool in memcheck racecheck initcheck synccheck; do
    STUB_FINDS=$tool turn 1 --part sanitizer
    says "\"failed\": [\"sanitizer $tool-special\"],"
    says 'Invalid __global__ write'
done
turn 0 --part sanitizer

# the device trains otherwise; a kernel spills; as graphs otherwise
STUB_STRAYS=cuda turn 1 --part train
says '"within": false'
STUB_STRAYS=cuda-graphs-bf16 turn 1 --part train
says 'cuda-bf16: 1.5 1.5 1.5 1.5 ; as graphs: 1.6 1.6 1.6 1.6 "'
STUB_FULL=cuda-graphs-tf32 turn 1 --part train
says 'cuda-tf32: 1.5 1.5 1.5 1.5 ; as graphs: gsa: cuda: no memory"'
STUB_STACK=8 turn 1 --part build
says 'sm_90 rows: _Z4stubv:'

# no device, no sanitizer, no PyTorch, no libraries for training, no SST
STUB_NO_DEVICE=1 turn 77 --part core --part tests --part kernels --part train
tells 'no device: nothing was checked or timed on one'
says '"gpu": "none"'
STUB_REFUSES=1 turn 3 --part sanitizer
says 'Device not supported'
mv "$work/stubs/compute-sanitizer" "$work/few"
turn 3 --part sanitizer
says 'compute-sanitizer is not installed'
mv "$work/few/compute-sanitizer" "$work/stubs"
STUB_TORCH=0 turn 3 --part peers
says 'No module named torch'
STUB_BUILD=few turn 3 --part build --part tests --part train --part steps
says 'no gsa: built without utf8proc and jansson'
says '--out check --sst FOLDER'
# a program that finds no device where there is one has failed
turn 0 --part build
stub few test_plan_device 'exit 77'
cp "$work/few/test_plan_device" "$work/folder/bin"
turn 1 --part core
says 'found no device, and nvidia-smi finds A stub of a GPU'

# the build fails: the parts that need it fail with a sentence, the others stand
rm -rf "$work/folder" "$work/check"
STUB_BUILD=broken turn 1
says 'error: no such thing'
says '"tests programs"'
STUB_BUILD=unconfigured turn 1 --part build
says 'no CUDA toolkit'

# time: what hangs is ended; what the budget cuts, or has no time left, goes on later
turn 0 --part build
STUB_HANGS=special GPU_CHECK_LIMIT=1 turn 1 --part tests
says '"status": 124'
STUB_HANGS=special turn 4 --part tests --minutes 0.05
says '"out of time: cut after'
turn 4 --part tests --minutes 0
says '"out of time"'
turn 0 --part tests --resume
never '"out of time'

# the archive holds what runs without a compiler
turn 0 --part build --pack packed.tar.xz
tells "packed   packed.tar.xz, "
mkdir "$work/bare"
tar -C "$work/bare" -xf "$work/packed.tar.xz"
(cd "$work/bare" && PATH=$base GPU_CHECK_BUILD='' tools/gpu-check --part core --part kernels --part train >"$work/said" 2>&1) ||
    fail "the archive does not run"
checks=$((checks + 1))

# what it cannot make out
(PATH=$base "$source/tools/gpu-check" --part nope) >"$work/said" 2>&1 && fail "--part nope is taken"
tells "gpu-check: --part nope: expected one of build core kernels steps train tests sanitizer peers"
for words in "--part all" "--part" "--speed 9" "--out" "--minutes ten" "--packages none" "--sst none" "--out none/check/x"; do
    touch "$work/none"
    # shellcheck disable=SC2086
    (cd "$work" && PATH=$base "$source/tools/gpu-check" $words) >"$work/said" 2>&1 && fail "$words is taken"
    tells "gpu-check [--out FOLDER]"
    tells "gpu-check: "
    tells "${words%% *}"
done
(cd "$work" && PATH=$base "$source/tools/gpu-check" --list --part tests) >"$work/said"
tells "tests graphs: "
(cd "$work" && STUB_BROKEN="gpu_bench silent" PATH=$base "$source/tools/gpu-check" --list) >"$work/said" 2>&1 && fail "an empty list is taken"
tells "FAILED   kernels list"
echo "Checks: $checks, Failures: 0"
