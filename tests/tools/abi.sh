#!/usr/bin/env bash
# abi.sh [--write] - compares libgsa's binary interface, its functions and the types of the public headers, with
# tests/tools/libgsa.abi.gz (libabigail: package abigail-tools). --write makes that file anew, for a change that is meant.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$root"
need_packages "${packages_build[@]}" abigail-tools
kept=tests/tools/libgsa.abi.gz build=build/abi
[ "$(uname -m)" = x86_64 ] || { echo "$kept is of x86_64: nothing compared"; exit 0; }

# Debug information tells types; nothing is optimised, so that it takes a minute.
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="-O0 -g" \
    -DGSA_TESTS=OFF -DGSA_CUDA=OFF -DGSA_SANITIZE= >"$build.log" 2>&1 || { tail -5 "$build.log"; exit 1; }
cmake --build "$build" --target gsa_shared -j "$(cores)" >"$build.log" 2>&1 || { tail -20 "$build.log"; exit 1; }
dump=$build/libgsa.abi
abidw --headers-dir "$build/include/gsa" --drop-private-types --exported-interfaces-only --no-elf-needed --no-parameter-names \
    --no-corpus-path --no-comp-dir-path --no-show-locs "$build/libgsa.so" >"$dump"
if [ "${1-}" = --write ]; then
    gzip -9n <"$dump" >"$kept"
    exit
fi
gunzip <"$kept" >"$dump.kept"
abidiff "$dump.kept" "$dump" || fail "the binary interface has changed; tests/tools/abi.sh --write where that is meant"
echo "abi: $(grep -c '<elf-symbol ' "$dump") symbols, as in $kept"
