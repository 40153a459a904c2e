#!/usr/bin/env bash
# real.sh [FOLDER] - train/group/nccl.c with NVIDIA's own NCCL: compiled with all warnings as errors, linked with nothing left open, loaded and
# asked (real.c). FOLDER: nvidia/nccl of pip's nvidia-nccl-cu12 or -cu13; without it the one that python3 finds. Ends with 77 where there is none,
# or no CUDA toolkit ($CUDA_HOME, /usr/local/cuda).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
nccl=${1-$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0])' 2>/dev/null || true)} cuda=${CUDA_HOME:-/usr/local/cuda}/include
if [ ! -e "$nccl/include/nccl.h" ] || [ ! -e "$cuda/cuda_runtime.h" ]; then
    echo "there is no nccl.h in '$nccl/include', or no cuda_runtime.h in '$cuda'"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c17 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Wpedantic -Wshadow -Werror -I. -isystem "$cuda")
library=$(find "$nccl/lib" -name 'libnccl.so*' | head -n 1)
cc "${flags[@]}" -isystem "$nccl/include" -fPIC -shared train/group/nccl.c -o "$work/gsa-nccl.so" "$library" -Wl,-z,defs -Wl,-rpath,"$nccl/lib"
cc "${flags[@]}" tests/nccl/real.c -o "$work/real" -ldl
timeout 60 "$work/real" "$work/gsa-nccl.so"
