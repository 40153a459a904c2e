#!/usr/bin/env bash
# mpi_hosts.sh RECIPE - two ranks on two hosts: network namespaces with a cable between them, each with a host name of its own.
# Trains RECIPE (in this folder) on both, with one rank on each, and alone, and compares the weights. Needs root, Open MPI, iproute2 and a
# build with -DGSA_MPI=ON.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
gsa=$root/build/gsa work=$(mktemp -d)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if [ $# -ne 1 ] || [ ! -e "$1" ]; then
    echo "usage: mpi_hosts.sh RECIPE" >&2
    exit 2
fi
leave()
{
    ip netns del gsa-a
    ip netns del gsa-b
    rm -rf "$work"
}
ip netns add gsa-a && ip netns add gsa-b
trap leave EXIT
ip link add gsa-va netns gsa-a type veth peer name gsa-vb netns gsa-b
for host in a b; do
    ip -n gsa-$host addr add "10.9.0.$([ $host = a ] && echo 1 || echo 2)/24" dev gsa-v$host
    ip -n gsa-$host link set lo up
    ip -n gsa-$host link set gsa-v$host up
done
printf '#!/bin/sh\nshift\nexec ip netns exec gsa-b unshare -u sh -c "hostname gsa-b; $*"\n' >"$work/agent"
chmod +x "$work/agent"
train="cd '$PWD' && '$gsa' train '$1' --threads 1 --quiet"
ip netns exec gsa-a unshare -u sh -c "hostname gsa-a; mpirun --host 10.9.0.1:1,10.9.0.2:1 -np 2 --mca plm_rsh_agent '$work/agent' \
    --mca btl tcp,self --mca btl_tcp_if_include 10.9.0.0/24 --mca oob_tcp_if_include 10.9.0.0/24 \
    sh -c \"hostname; $train --out '$work/two'\""
ip -n gsa-a -s link show gsa-va | tail -n 1
"$gsa" train "$1" --threads 1 --quiet --out "$work/one" >/dev/null
cmp "$work/one/$(cat "$work/one/latest")/model.safetensors" "$work/two/$(cat "$work/two/latest")/model.safetensors" && echo "the same weights"
