#!/usr/bin/env bash
# steady.sh [SECONDS [KILLS]] - a run that trains for so long (120) keeps its memory within 1 % and its descriptors; beside
# it another run is killed so often (100) at any moment: its checkpoints stay whole, and the next start leaves no orphan.
# The last line counts. The places of the kills come from a fixed seed.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
seconds=${1:-120} kills=${2:-100} gsa=$root/build/gsa
work=$(mktemp -d)
cd "$work"
soaked=
trap '[ -z "$soaked" ] || { kill -KILL "$soaked"; wait "$soaked"; } 2>/dev/null || true; rm -rf "$work"' EXIT
recipe()
{
    printf '[task]\nname = masked_summation\nn = 6\nk = 2\nd = 3\ntrain = %d\ndev = 8\ntest = 8\n[model]\nencoder = star\nhidden = 8\nheads = 2\n[train]\nbatch = 8\nepochs = 1000000\ncheckpoint_every = %d\neval_every = %d\nreport_every = 4\n' "$@"
}
recipe 20000 500 1000 >soak.ini
recipe 16 1 2 >kill.ini

"$gsa" train soak.ini --out soak --threads 2 --quiet >/dev/null 2>soak.err &
soaked=$!

orphans_of()
{
    find "$1" -maxdepth 1 \( -name '*.tmp*' -o -name '*.old-gsa' \) 2>/dev/null | wc -l
}
RANDOM=1 orphans=0 left=0 unreadable=0 whole=0
for ((i = 0; i < kills; i++)); do
    start=(train kill.ini) before=
    [ ! -e run/latest ] || { start=(train --resume run) before=$(cat run/latest); }
    "$gsa" "${start[@]}" --out run --threads 1 --quiet >/dev/null 2>kill.err &
    child=$!
    if ((i % 2 == 0)); then # amid checkpoints, else at any moment of the start
        for ((wait = 0; wait < 1000; wait++)); do
            now=$(cat run/latest 2>/dev/null) || true
            [ "$now" = "$before" ] || break
            sleep 0.02
        done
    fi
    sleep "$(printf '0.%03d' $((RANDOM % 60)))"
    kill -KILL "$child" 2>/dev/null || { cat kill.err; fail "kill $i: the run had ended by itself"; }
    wait "$child" 2>/dev/null || true
    last=$left left=$(orphans_of run)
    [ "$left" -le $((last + 1)) ] || { ls run; fail "kill $i left $((left - last)) orphans"; }
    [ "$left" -le "$last" ] || orphans=$((orphans + left - last))
    [ -e run/latest ] || continue
    if "$gsa" eval --model run --quiet >/dev/null 2>eval.err; then whole=$((whole + 1)); else unreadable=$((unreadable + 1)) && cat eval.err; fi
done
step=$(sed 's/step-//' run/latest)
"$gsa" train --resume run --set train.max_steps=$((step + 2)) --threads 1 --quiet >/dev/null
left=$(orphans_of run)

# Resident kilobytes and descriptors of the soaked run, ten times; the first tenth warms up.
most=0 first=0 files=0 now=0
for ((i = 0; i < 10; i++)); do
    while [ "$(ps -o etimes= -p "$soaked" | tr -d ' ')" -lt $((seconds * (i + 1) / 10)) ]; do sleep 0.5; done
    now=$(awk '/VmRSS/ { print $2 }' "/proc/$soaked/status") open=$(find "/proc/$soaked/fd" -type l | wc -l)
    [ "$i" -gt 0 ] || { first=$now files=$open; }
    [ "$now" -le "$most" ] || most=$now
done
steps=$(tail -1 soak/log.jsonl | sed 's/.*"step": *\([0-9]*\).*/\1/')
grown=$(((most - first) * 1000 / first))
echo "soak: $seconds s, $steps steps; $first kB at first, $most at most (+$grown per mille); $files descriptors at first, $open at last"
echo "kills: $kills, $whole read again, $unreadable unreadable, $orphans orphans after kills, $left after the next start"
[ "$grown" -le 10 ] && [ "$open" -le $((files + 1)) ] && [ "$unreadable" -eq 0 ] && [ "$left" -eq 0 ] && [ "$whole" -gt 0 ]
