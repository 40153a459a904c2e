#!/usr/bin/env bash
# tsan.sh - the suites that start threads, built by clang with ThreadSanitizer (libgomp gives false alarms, so
# oneDNN is left out): attention in each format, plans that are shared, ranks, and eight threads of two models each. Not the case
# prefetch.thread, which counts the process's threads, and ThreadSanitizer has one of its own.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$root"
folder=build/tsan
suites=(cache instance output lexicon context parameters_io ranks kernel_threads cpu_formats prefetch corpora group predictor)
need_packages "${packages_build[@]}" "${packages_test[@]}" clang-14 libclang-rt-14-dev ninja-build
CC=clang-14 CXX=clang++-14 cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -gline-tables-only" \
    -DGSA_SANITIZE=thread -DGSA_TESTS=ON -DGSA_CUDA=OFF -DGSA_EMULATED=OFF -DGSA_ONEDNN=OFF -DGSA_CBLAS=OFF -DGSA_MPI=OFF \
    -DGSA_LEVELS=avx2 >"$folder.log" 2>&1 || fail "$(tail -5 "$folder.log")"
cmake --build "$folder" -j "$(cores)" --target "${suites[@]/#/test_}" >"$folder.log" 2>&1 || fail "$(grep -A 5 error: "$folder.log" | head -40)"
pattern=$(IFS='|'; echo "${suites[*]}")
rm -f "$folder/tests.xml"
TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
    ctest --test-dir "$folder" -R "^($pattern)\\." -E '\.guard$|^prefetch\.thread$|^kernel_threads\.(float|double|gemm)' -j "$(cores)" --no-tests=error --output-on-failure \
    --output-junit tests.xml >"$folder.log" 2>&1 || { grep -E 'WARNING: Thread|Failed|tests passed' -A 8 "$folder.log" | head -60; exit 1; }
sed -n 's/.* out of \([0-9]*\)$/tsan: \1 tests, 0 reports/p' "$folder.log"
