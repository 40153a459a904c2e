#!/usr/bin/env bash
# mpi.sh - the command under mpirun: the same bits on 1, 2 and 4 ranks, with other numbers of ranks after a kill, and one
# sentence for each wrong request; so with MPICH, and on devices, which tests/simt and tests/nccl stand in for. Builds the modules into build/,
# and counts into build/mpi/tests.count.
#   mpi.sh [KILLS]    a rank is killed at so many random moments (3)
set -uo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$root" || exit 1
kills=${1:-3} passed=0 failed=0 skipped=0 checks=0
need_packages "${packages_build[@]}" libopenmpi-dev openmpi-bin mpich libmpich-dev check libsubunit-dev libmetis-dev g++ || exit 1
[ -e build/CMakeCache.txt ] || cmake --preset release -DGSA_CUDA=OFF >/dev/null
{ cmake -DGSA_MPI=ON -DGSA_TESTS=ON build && cmake --build build -j "$(cores)" --target gsa_command --target gsa_mpi --target gsa_simt_ranks; } >/dev/null ||
    fail "the modules were not built"
gsa=$root/build/gsa work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

# A test: a name, and a command that fails where it is red.
try()
{
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s: %s\n' "$name" "$*"
        tail -n 12 "$work/out"
    fi
}

# ranks N COMMAND...: the command on N ranks; alone without a launcher.
launcher=(mpirun.openmpi --oversubscribe --bind-to none)
ranks()
{
    local n=$1
    shift
    if [ "$n" -eq 1 ]; then timeout 60 "$@"; else timeout 60 "${launcher[@]}" -np "$n" "$@"; fi
}
# victims JOB: the processes of a job that this program's launcher started.
victims() { pgrep -P "$1" -x gsa || pgrep -f "^$gsa train"; }

# ---- data: words that depend on each other, a text and its translation
words=(red green blue cat dog bird sat ran flew on over under the a)
RANDOM=7
for split in train dev; do
    for ((i = 0; i < (${#split} == 5 ? 400 : 60); i++)); do
        line='' other='' n=$((3 + RANDOM % 9))
        for ((k = 0; k < n; k++)); do
            w=${words[RANDOM % 14]}
            line+="$w " other="${w}o $other"
        done
        echo "${line% }" >>$split.en
        echo "${other% }" >>$split.de
        case $line in *cat*) echo "yes	${line% }" ;; *) echo "no	${line% }" ;; esac >>$split.tsv
        echo "${line% }" >>$split.txt
    done
done
common="[train]\nseed = 3\nepochs = 100\nmax_steps = 50\nbatch = 16\nlr = 0.002\npieces = 8\neval_every = 25\ncheckpoint_every = 5\n"
small="hidden = 32\nheads = 4\ndropout_hidden = 0.1\ndropout_attention = 0.1\n"
printf %b "[task]\nname = masked_summation\nn = 30\nk = 3\nd = 4\ntrain = 400\ndev = 50\ntest = 50\n[model]\nencoder = star*2\n${small}${common}" >star.ini
printf %b "[task]\nname = text_classification\n[model]\nencoder = bpt:k=2*2\nffn = 64\n${small}${common}[data]\ntrain = train.tsv\ndev = dev.tsv\n" >bpt.ini
printf %b "[task]\nname = translation\n[model]\nencoder = full*2\ndecoder = full:causal=1+cross*2\nffn = 64\nposition = sinusoid\n${small}${common}[data]\ntrain = train\ndev = dev\nsource = en\ntarget = de\n" >pair.ini
printf %b "[task]\nname = language_modelling\n[model]\nencoder = window:width=5:causal=1*2\nffn = 64\nposition = sinusoid\n${small}${common}[data]\ntrain = train.txt\ndev = dev.txt\ntokens = chars\nwindow = 32\n" >language.ini

# ---- the same bits
sum() { sha256sum <"$1/step-50/model.safetensors"; }
same()
{
    checks=$((checks + 2))
    [ "$(sum "$1")" = "$(sum "$2")" ] && cmp "$1/outcomes.jsonl" "$2/outcomes.jsonl"
}
for recipe in star bpt pair language; do
    for n in 1 2 4; do
        try "$recipe on $n" ranks $n "$gsa" train $recipe.ini --threads 1 --quiet --out $recipe-$n
        [ $n -eq 1 ] || try "$recipe on $n: bits" same $recipe-1 $recipe-$n
    done
done
# Bytes that were counted, against the formula of the model of ranks (docs/scaling.md).
number() { grep -o "\"$2\": [0-9]*" "$1/result.json" | grep -o '[0-9]*$'; }
counted()
{
    local formula
    formula=$("$root/tools/lab/ranks.py" --sent "${3-$(number "$1-$2" parameters)}" "$2") && checks=$((checks + 1))
    [ "$(number "$1-$2" sent_bytes)" = $((formula * $(number "$1-$2" steps))) ]
}
for recipe in star bpt pair language; do
    for n in 2 4; do try "$recipe on $n: bytes sent" counted $recipe $n; done
done
scores()
{
    diff <(ranks 1 "$gsa" eval --model "$1-1" --quiet | sed 's/"seconds.*"parameters/"parameters/') \
        <(ranks 4 "$gsa" eval --model "$1-1" --quiet | sed 's/"seconds.*"parameters/"parameters/') && checks=$((checks + 1))
}
try "eval" scores bpt
try "eval, translations" scores pair

# ---- what is written: the same bytes, into a file and to standard output
written()
{
    local n
    for n in 1 2 4; do
        ranks "$n" "$gsa" "$@" --threads 1 --quiet --output "written.$n" || return 1
        cmp written.1 "written.$n" || return 1
        checks=$((checks + 1))
    done
    ranks 2 "$gsa" "$@" --threads 1 --quiet >written.2 && [ -s written.2 ] && cmp written.1 written.2
}
cut -f 2 train.tsv | head -n 150 >texts
head -n 21 dev.txt >prompts
try "predict" written predict --model bpt-1 --input texts --proba all
try "predict, translations" written predict --model pair-1 --input dev.en
try "predict, rows of each line" written predict --model bpt-1 --input texts --set train.split=rows --set train.pieces=0
try "generate" written generate --model language-1 --input prompts --tokens 12 --count 2
try "generate, one prompt" written generate --model language-1 --prompt 'the cat' --tokens 12

# ---- the rows of each example are shared: equal but for rounding
rows_equal()
{
    local n loss
    for n in 1 2 4; do
        rm -rf "rows-$1-$n"
        ranks "$n" "$gsa" train "$1.ini" --set train.split=rows --set train.pieces=0 --set train.max_steps=10 \
            --threads 1 --quiet --out "rows-$1-$n" >/dev/null || return 1
        loss=$(grep -o '_loss":[-0-9.e]*' "rows-$1-$n/log.jsonl" | tail -n 1 | grep -o '[-0-9.e]*$')
        [ $n -eq 1 ] && first=$loss
        [ -n "$loss" ] || return 1
        awk -v a="$first" -v b="$loss" 'BEGIN { d = a - b; exit !(d < 1e-4 && d > -1e-4) }' || return 1
        checks=$((checks + 2))
    done
}
# A grid of 20 x 20 whose nodes are numbered in no order: METIS cuts it.
awk 'BEGIN { for (i = 0; i < 400; i++) { a = i * 37 % 400; if (i % 20 < 19) print a, (i + 1) * 37 % 400; if (i < 380) print a, (i + 20) * 37 % 400 } }' >grid.edges
awk 'BEGIN { srand(3); for (i = 0; i < 400; i++) l[i * 37 % 400] = i; for (a = 0; a < 400; a++) { i = l[a]; print a "\t" (a % 4 ? "train" : "dev") "\t" (i % 20 < 10 ? "west" : "east") "\t" i % 7 ":1 " 7 + i % 5 ":" rand() } }' >grid.tsv
printf %b "[task]\nname = node_classification\n[model]\nencoder = file*2\n${small}[encoder.1]\npath = grid.edges\ndirected = 0\nself = 1\n${common}[data]\ntrain = grid.tsv\n" >grid.ini
sed 's/^self = 1/self = 1\nsample = 2\nredraw = 1/' grid.ini >drawn.ini
for recipe in star bpt language grid drawn; do try "rows of $recipe" rows_equal "$recipe"; done

# ---- a rank is killed, and the run goes on with another number of ranks
kill_one()
{
    local job victim wait end
    rm -rf killed
    "${launcher[@]}" -np 2 "$gsa" train language.ini --threads 1 --quiet --out killed >killed.out 2>&1 &
    job=$!
    wait=$((RANDOM % 30))
    sleep "$((wait / 10)).$((wait % 10))"
    victim=$(victims $job | sed -n "$((1 + RANDOM % 2))p")
    if [ -n "$victim" ] && kill -9 "$victim"; then
        end=$SECONDS
        wait $job && return 1
        [ $((SECONDS - end)) -le 10 ] && checks=$((checks + 1)) || return 1
    else
        kill $job 2>/dev/null
        wait $job
    fi
    if [ -e killed/latest ]; then
        (cd "killed/$(cat killed/latest)" && sha256sum -c --quiet manifest.sha256) || return 1
        ranks $((1 << RANDOM % 3)) "$gsa" train --resume killed --threads 1 --quiet || return 1
    else
        rm -rf killed
        ranks 4 "$gsa" train language.ini --threads 1 --quiet --out killed || return 1
    fi
    same language-1 killed
}
for ((i = 1; i <= kills; i++)); do try "killed, $i" kill_one; done

# ---- wrong requests: one sentence, the exit code
refused()
{
    local code=$1 sentence=$2 n=$3 got=0
    shift 3
    ranks "$n" "$@" >refused.out 2>&1 || got=$?
    checks=$((checks + 2))
    cat refused.out
    [ "$got" -eq "$code" ] && [ "$(grep '^gsa: ' refused.out | sort -u | wc -l)" -eq 1 ] && grep -q "^gsa: .*$sentence" refused.out
}
try "three ranks" refused 2 '3 ranks: expected a power of two' 3 "$gsa" train star.ini
try "pieces" refused 2 'pieces = 2 cannot be shared by 4 ranks' 4 "$gsa" train star.ini --set train.pieces=2
try "rows of pairs" refused 1 'train.split = rows: task translation does not' 2 "$gsa" train pair.ini --set train.split=rows --set train.pieces=0
try "a verb alone" refused 2 "'gsa doctor' is for one process" 2 "$gsa" doctor
try "no recipe" refused 1 "there is no file 'nothing'" 2 "$gsa" train nothing
try "a folder that is taken" refused 3 'rank 0 of 2: .*holds a run already' 2 "$gsa" train star.ini --out star-1
try "predict, standard input" refused 2 "'-' is read by one process alone" 2 "$gsa" predict --model bpt-1
try "predict, a text" refused 2 'texts and --stream are for one process: 2 ranks share' 2 "$gsa" predict --model bpt-1 'the cat'
try "generate, standard input" refused 2 "'-' is read by one process alone" 2 "$gsa" generate --model language-1
try "several runs" refused 2 'are for one process' 2 "$gsa" train star.ini --seeds 2 --out seeds
try "no file" refused 1 'nothing.tsv' 2 "$gsa" train bpt.ini --set data.train=nothing.tsv
try "infinite" refused 3 'rank [01] of 2: step [0-9]*: the .* not finite' 2 "$gsa" train star.ini --set train.lr=1000 --set train.optimizer=sgd --quiet
mkdir other && (cd other && cp ../*.ini ../dev.* . && sed 's/cat/dog/' ../train.tsv >train.tsv)
at() { [ "${OMPI_COMM_WORLD_RANK-0}" -eq 0 ] || cd other || return 1; exec "$gsa" "$@"; }
export -f at && export gsa
try "a wrong topology" refused 2 "no topology is named 'stern'" 2 "$gsa" train star.ini --set model.encoder=stern
at_help() { [ "${OMPI_COMM_WORLD_RANK-0}" -eq 0 ] || set -- "$@" --help; exec "$gsa" "$@"; }
export -f at_help
try "a rank that asks for help" refused 3 'rank 1 of 2: its verb or options are not those of rank 0' 2 bash -c 'at_help train star.ini'
at_usage() { [ "${OMPI_COMM_WORLD_RANK-0}" -eq 0 ] || set -- --help; exec "$gsa" "$@"; }
export -f at_usage
try "a rank that ends while the other waits" refused 3 'rank 1 of 2 has ended, and others wait for it' 2 bash -c 'at_usage train star.ini'
at_all() { [ "${OMPI_COMM_WORLD_RANK-0}" -eq 0 ] || set -- "$@" --proba all; exec "$gsa" "$@"; }
export -f at_all
try "other options" refused 3 'rank 1 of 2: its verb or options are not those of rank 0' 2 bash -c 'at_all predict --model bpt-1 --input texts'
try "other data" refused 3 'rank 1 of 2 has another data than rank 0' 2 bash -c 'at train bpt.ini'
mkdir short && cp ./*.tsv short && tail -n 9 texts >short/texts
at_short() { [ "${OMPI_COMM_WORLD_RANK-0}" -eq 0 ] || cd short || return 1; exec "$gsa" "$@"; }
export -f at_short
try "another input" refused 3 "rank 1 of 2: its 'texts' is another file than that of rank 0" 2 bash -c "at_short predict --model '$work/bpt-1' --input texts"
cp "$gsa" other/gsa && cp "$root/build/gsa-mpi.so" other && printf x >>other/gsa
at_other() { [ "${OMPI_COMM_WORLD_RANK-0}" -eq 0 ] || gsa=./other/gsa; exec "$gsa" "$@"; }
export -f at_other
try "another program" refused 3 'rank 1 of 2 has another program or library' 2 bash -c 'at_other train star.ini'
read -r name _ at _ < <(ldd "$gsa" | grep libutf8proc)
mkdir library && cp -L "$at" "library/$name" && printf x >>"library/$name"
at_library() { [ "${OMPI_COMM_WORLD_RANK-0}" -eq 0 ] || export LD_LIBRARY_PATH=$PWD/library; exec "$gsa" "$@"; }
export -f at_library
try "another library" refused 3 'rank 1 of 2 has another program or library' 2 bash -c 'at_library train star.ini'
mkdir bare && cp "$gsa" bare
without() { timeout 60 "${launcher[@]}" -np 2 bare/gsa train star.ini >bare.out 2>&1; [ $? -eq 1 ] && grep -q '^gsa: 2 ranks were started, but this gsa has no MPI' bare.out; }
try "no module" without
if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=64k tmpfs full 2>/dev/null; then
    try "a full disk" refused 3 'rank 0 of 2: .*No space left' 2 "$gsa" train language.ini --out full/run --quiet
    try "a full disk, generate" refused 3 'rank 0 of 2: .*No space left' 2 "$gsa" generate --model language-1 --input prompts --tokens 9000 --raw --output full/text --quiet
    umount full
fi
stopped()
{
    local job end code=0
    "${launcher[@]}" -np 2 "$gsa" train star.ini --set train.max_steps=1000000 --set train.epochs=1000000 --quiet >stop.out 2>&1 &
    job=$!
    sleep 3
    kill -STOP "$(victims $job | head -n 1)" || return 1
    end=$SECONDS
    wait $job || code=$?
    cat stop.out
    checks=$((checks + 2))
    [ $((SECONDS - end)) -le 10 ] && [ $code -eq 3 ] && grep -q '^gsa: rank [01] of 2 has given no sign of life' stop.out
}
try "stopped" stopped

# ---- ranks with devices: gradients go from one to the other by NCCL, or through the host's memory
device=$root/build/tests/simt/nccl/gsa-simt
printf %b "[task]\nname = masked_summation\nn = 12\nk = 4\nd = 3\ntrain = 64\ndev = 8\ntest = 8\n[model]\nencoder = star*1\nhidden = 8\nheads = 2\ndropout_hidden = 0.1\n${common}optimizer = adamw\nweight_decay = 0.01\n" >device.ini
# on_device NAME RANKS SENTENCE [VARIABLE=VALUE...]: trains into the folder NAME, and says how gradients go; the same bits as one rank.
on_device()
{
    local name=$1 n=$2 sentence=$3
    shift 3
    rm -rf "$name"
    ranks "$n" env "$@" "$device" train device.ini --device cuda --threads 1 --out "$name" || return 1
    [ "$n" -eq 1 ] && return
    checks=$((checks + 1))
    grep -q "^gradients go $sentence" "$work/out" && same device-1 "$name"
}
early() { checks=$((checks + 1)) && [ "$(number "$1" early_sums)" -gt 0 ]; }
nccl='from device to device by NCCL' host="through the host's memory: rank"
try "device, 1" on_device device-1 1 ''
begin=$SECONDS
for n in 2 4; do
    try "devices, $n" on_device device-$n $n "$nccl"
    try "devices, $n: sums during backward passes" early device-$n
    try "devices, $n: bytes sent" counted device $n device-$n/step-50/model.safetensors
done
whole=$(((SECONDS - begin) / 2))
for late in 1 2; do try "devices, each when it is waited for, $late" on_device late 4 "$nccl" SIMT_LATE=$late; done
try "a device for each" on_device each 2 "$nccl" SIMT_DEVICES=2
try "an old NCCL" on_device old 4 "$host 2 of 4: NCCL 21304 is here, expected 21400" GSA_TEST_NCCL=old:2
try "no communicator" on_device none 2 "$host 0 of 2: NCCL: invalid usage (the stand-in was asked to fail)" GSA_TEST_NCCL=init:-1
try "no communicator on one" on_device none 2 "$host 0 of 2: NCCL: no other rank's answer for 8 seconds" GSA_TEST_NCCL=init:1
mkdir plain && cp "$device" "$root/build/gsa-mpi.so" plain
without_nccl() { device=plain/gsa-simt on_device without 2 "$host 0 of 2: this gsa has no NCCL"; }
try "no module of NCCL" without_nccl
# soon CODE SENTENCE VARIABLE=VALUE...: one sentence, within 10 seconds more than a run takes.
soon()
{
    local code=$1 sentence=$2 begin=$SECONDS
    shift 2
    rm -rf soon
    refused "$code" "$sentence" 2 env "$@" "$device" train device.ini --device cuda --threads 1 --out soon --quiet && [ $((SECONDS - begin)) -le $((whole + 10)) ]
}
try "another NCCL" soon 3 'rank 1 of 2 has NCCL 21401, this one has 21400' GSA_TEST_NCCL=other:1
try "no unique id" soon 3 'rank 0 of 2: NCCL: unhandled system error' GSA_TEST_NCCL=id:0
for nth in 1 30; do
    try "NCCL fails, $nth" soon 3 'rank 1 cannot reach rank 0: NCCL: unhandled system error (the stand-in was asked to fail)$' GSA_TEST_NCCL=system:1:$nth
    try "NCCL fails later, $nth" soon 3 'rank 0 of 2: NCCL: remote process exited' GSA_TEST_NCCL=async:0:$nth
    try "NCCL fails later and is found out, $nth" soon 3 'rank 0 of 2: .*NCCL: remote process exited' GSA_TEST_NCCL=async:0:$nth SIMT_LATE=1
done
# One rank loses its device, or dies, while the other waits for what it sends.
at_one()
{
    # shellcheck disable=SC2016  # of the shells that it starts
    soon "$1" "$2" bash -c '[ "$OMPI_COMM_WORLD_RANK" -eq 0 ] || export SIMT_LOSE_AFTER='"$3"'; exec "$0" "$@"'
}
for after in 300 420 555; do try "a device is lost, $after" at_one 75 'rank 1 of 2: .*the device is lost' $after; done
die()
{
    local job begin
    "${launcher[@]}" -np 2 "$device" train device.ini --device cuda --set train.max_steps=100000 --set train.epochs=100000 --threads 1 --quiet >die.out 2>&1 &
    job=$!
    sleep "3.$((RANDOM % 10))"
    kill -9 "$(pgrep -P $job -x gsa-simt | head -n 1)" || return 1
    begin=$SECONDS
    wait $job && return 1
    checks=$((checks + 1))
    [ $((SECONDS - begin)) -le 10 ]
}
try "a rank with a device dies" die
try "infinite, on devices" refused 3 'rank [01] of 2: step [0-9]*: the .* not finite' 2 "$device" train device.ini --device cuda --set train.lr=1000 \
    --set train.optimizer=sgd --quiet
try "rows on devices" refused 1 'train.split = rows: cuda .* has memory of its own; expected --device cpu' 2 "$device" train device.ini \
    --device cuda --set train.split=rows --set train.pieces=0 --out unmade
try "graphs on devices" refused 1 'launches steps as a whole, 2 ranks add gradients within one' 2 "$device" train device.ini --device cuda-graphs
try "rows on devices: no folder is left" [ ! -e unmade ]
if "$root/tests/nccl/real.sh" >"$work/out" 2>&1; then
    passed=$((passed + 1))
elif [ $? -eq 77 ]; then
    skipped=$((skipped + 1))
else
    try "NVIDIA's NCCL" "$root/tests/nccl/real.sh"
fi

# ---- MPICH: the same program with a module of its own
mkdir mpich && cp "$gsa" mpich
launcher=(mpirun.mpich)
try "a launcher of another MPI" refused 2 'MPI finds no other rank: expected the launcher of the MPI' 2 "$gsa" train star.ini
gsa=$work/mpich/gsa
try "a module for MPICH" mpicc.mpich -std=c17 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Werror -fPIC -shared -I"$root" "$root/train/group/mpi.c" \
    -o mpich/gsa-mpi.so
for n in 2 4; do
    try "star on $n, MPICH" ranks $n "$gsa" train star.ini --threads 1 --quiet --out mpich-$n
    try "star on $n, MPICH: bits" same star-1 mpich-$n
done
try "rows of bpt, MPICH" rows_equal bpt
try "infinite, MPICH" refused 3 'rank [01] of 2: step [0-9]*: the .* not finite' 2 "$gsa" train star.ini --set train.lr=1000 --set train.optimizer=sgd --quiet
try "three ranks, MPICH" refused 2 '3 ranks: expected a power of two' 3 "$gsa" train star.ini
try "stopped, MPICH" stopped
# Its launcher kills all ranks before one can speak: the shell that docs/scaling.md shows names the first.
named()
{
    local job victim rank begin
    # shellcheck disable=SC2016  # of the shells that it starts
    "${launcher[@]}" -np 4 sh -c '"$@" || { e=$?; echo "rank $PMI_RANK: $e" >&2; exit $e; }' - \
        "$gsa" train star.ini --set train.max_steps=1000000 --set train.epochs=1000000 --quiet >named.out 2>&1 &
    job=$!
    sleep 3
    victim=$(victims $job | sed -n 3p)
    rank=$(tr '\0' '\n' <"/proc/$victim/environ" | sed -n 's/^PMI_RANK=//p')
    begin=$SECONDS
    kill -9 "$victim" || return 1
    wait $job && return 1
    cat named.out
    checks=$((checks + 2))
    [ $((SECONDS - begin)) -le 10 ] && [ "$(grep '^rank ' named.out)" = "rank $rank: 137" ]
}
try "killed, MPICH" named

cd "$root" || exit 1
mkdir -p build/mpi && echo "$passed $failed $skipped $checks" >build/mpi/tests.count
echo "mpi: $passed passed, $failed failed, $skipped skipped"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
