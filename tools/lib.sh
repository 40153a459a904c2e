# shellcheck shell=bash
# shellcheck disable=SC2034  # the lists are used by those that source this
# lib.sh - what the scripts share: where the project stands, what it needs, how it is built. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian and Ubuntu names. The first list builds and runs, the second tests, the third is taken where the archive has it.
packages_build=(gcc libc6-dev make cmake pkg-config libdnnl-dev libigraph-dev libjansson-dev libutf8proc-dev zlib1g-dev libzstd-dev)
packages_test=(check libsubunit-dev libmetis-dev g++ libxml2-utils python3-networkx locales)
packages_package=(debhelper dpkg-dev fakeroot file lintian)
packages_neon=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
packages_extra=(clang-format-14 shellcheck ninja-build)
packages_browser=(chromium) # Debian's; Ubuntu's is no package of files

fail()
{
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

cores()
{
    nproc 2>/dev/null || echo 1
}

# Those of the given packages that are not installed.
missing_packages()
{
    local package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

# As root, or through sudo.
as_root()
{
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        return 127
    fi
}

# Where there is no apt-get: the names, and what is missing, as far as it can be told.
check_without_apt()
{
    local tool missing=()
    for tool in cc make cmake pkg-config; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    for tool in jansson libutf8proc; do
        pkg-config --exists "$tool" 2>/dev/null || missing+=("$tool")
    done
    echo "This is not Debian or Ubuntu; the packages there are: $*"
    [ ${#missing[@]} -eq 0 ] || fail "please install what is missing: ${missing[*]}"
}

# need_packages NAME...: installs those that are missing.
need_packages()
{
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        check_without_apt "$@"
        return
    fi
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
        { as_root apt-get update -q >/dev/null 2>&1 && as_root apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null; } ||
        fail "these packages are missing and could not be installed: ${missing[*]}"
}

# The same for packages that are only nice to have.
try_packages()
{
    command -v apt-get >/dev/null || return 0
    (need_packages "$@") >/dev/null 2>&1 || echo "not available here, going on without: $*"
}

# unpack_arm64 FOLDER PACKAGE...: takes arm64 packages and unpacks them there, with their archives; the system is not changed.
unpack_arm64()
{
    local folder=$1 options package
    shift
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
    rm -rf "$folder" && mkdir -p "$folder"/{lists,cache,packages} && folder=$(cd "$folder" && pwd)
    options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State::lists=$folder/lists"
        -o "Dir::Cache=$folder/cache" -o Dir::State::status=/dev/null -o APT::Sandbox::User=)
    apt-get "${options[@]}" update >/dev/null 2>&1 || return 1
    (cd "$folder/packages" && apt-get "${options[@]}" download "$@" >/dev/null 2>&1) || return 1
    for package in "$folder"/packages/*.deb; do
        dpkg -x "$package" "$folder/new" || return 1
    done
    find "$folder/new" -name '*.so' -delete && mv "$folder/new" "$folder/root" # the archives are linked
}

# CMake's word about CUDA, whose code takes longer to compile than all other: of the device that is here, or none.
cuda_option()
{
    local capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
    case $capability in
        [0-9]*) echo "-DCMAKE_CUDA_ARCHITECTURES=$capability" ;;
        *) echo "-DGSA_CUDA=OFF" ;;
    esac
}

# Reads what cmake --build prints, appends it to the file $1, and shows how far it is: on a terminal one
# line that grows, elsewhere a line for each quarter.
show_progress()
{
    awk -v log_file="$1" -v terminal="$([ -t 1 ] && echo 1 || echo 0)" '
        { print >>log_file }
        match($0, /^\[[0-9]+\/[0-9]+\]/) { split(substr($0, 2, RLENGTH - 2), n, "/"); percent = int(100 * n[1] / n[2]) }
        match($0, /^\[ *[0-9]+%\]/)       { percent = substr($0, 2, RLENGTH - 3) + 0 }
        percent > shown && terminal       { shown = percent; printf "\r  %3d %%", shown; fflush() }
        percent >= shown + 25 && !terminal { shown = percent - percent % 25; printf "  %3d %%\n", shown; fflush() }
        END { if (terminal && shown) printf "\r         \r" }'
}

# build PRESET FOLDER OPTION...: configures and builds, shows how far it is, and what went wrong. A new
# folder is Ninja's, where it is: it keeps every core busy, and make waits at the end of each library. A
# folder that is there stays what it is. Where build_target is set, only that is built.
build_target=
build()
{
    local preset=$1 folder=$2 log
    shift 2
    [ -e "$root/$folder/CMakeCache.txt" ] || [ -e "$root/$folder/Makefile" ] || ! command -v ninja >/dev/null || set -- -G Ninja "$@"
    log=$(mktemp)
    if ! (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1 ||
        ! (set -o pipefail; cd "$root" && cmake --build "$folder" -j "$(cores)" ${build_target:+--target "$build_target"} 2>&1 | show_progress "$log"); then
        grep -E -A 6 'error:|CMake Error|undefined reference' "$log" | head -n 60 >&2 || tail -n 40 "$log" >&2
        rm -f "$log"
        fail "the build failed (preset $preset)"
    fi
    sed -n '/^-- gsa /,/^-- Configuring done/p' "$log" | sed -n 's/^-- \(gsa .*\|  .*\)$/\1/p'
    rm -f "$log"
}
