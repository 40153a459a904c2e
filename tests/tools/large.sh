#!/usr/bin/env bash
# large.sh - attention over 2^31 + 2^20 edges against the same in parts (tests/calls/large.c). Takes two minutes of one core and 30 MB; not in .ci/run.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$root"
build_target=gsa_large build release build -DGSA_TESTS=ON >/dev/null
mkdir -p build/parts
build/tests/calls/gsa_large | tee build/parts/large.sh.log
