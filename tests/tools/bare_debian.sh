#!/usr/bin/env bash
# bare_debian.sh [packages [FOLDER]|quickstart] - makes a bare Debian root of what apt-get can reach and tries there,
# with no step by hand, what a new user would: the packages (installed, used, purged) and quickstart.
# Needs root and mmdebstrap. Without a word it tries both; with one, that alone. The packages are made anew,
# unless FOLDER has them.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
what=${1:-both} folder=${2-}
case $what in both | packages | quickstart) ;; *) fail "'$what' is not packages or quickstart" ;; esac
[ "$(id -u)" -eq 0 ] || fail "needs root, for chroot"
need_packages mmdebstrap
. /etc/os-release
[ "${ID-}" = debian ] || fail "tries Debian alone, and this is ${PRETTY_NAME-another system}"

bare=$(mktemp -d)
leave()
{
    for mount in proc dev; do umount -l "$bare/$mount" 2>/dev/null || true; done
    rm -rf --one-file-system "$bare"
}
trap leave EXIT
mmdebstrap --quiet --variant=minbase --mode=root "$VERSION_CODENAME" "$bare/" >/dev/null
mount -t proc proc "$bare/proc"
mount --rbind /dev "$bare/dev"
mount --make-rslave "$bare/dev"
cp /etc/resolv.conf "$bare/etc/" 2>/dev/null || true
cp -a /etc/hosts "$bare/etc/" 2>/dev/null || true

inside()
{
    chroot "$bare" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

# What a path under /usr, /etc or /var holds of ours.
traces()
{
    find "$bare"/usr "$bare"/etc "$bare"/var/lib \( -name 'gsa*' -o -name 'libgsa*' \) ! -path '*/dpkg/*' ! -path '*/apt/*' | sed "s|^$bare||"
}

try_packages_there()
{
    if [ -n "$folder" ]; then
        cp -r "$folder" "$bare/root/debs"
    else
        "$root/tools/package" "$bare/root/debs"
    fi
    inside apt-get update -q >/dev/null
    inside sh -c 'cd /root/debs && apt-get install -y -q --no-install-recommends ./libgsa0_*.deb ./libgsa-dev_*.deb ./gsa_*.deb ./gsa-inspect_*.deb' >/dev/null
    inside sh -euc '
        cd /root
        gsa --version
        gsa train masked-summation-small --set train.max_steps=2 --out run --quiet
        gsa eval --model run >/dev/null
        gsa graph --topology star --length 8 --out star.graphml
        gsa-inspect star.graphml --svg star.svg
        gsa graph --topology file:path=star.graphml --length 17 --out again.graphml
        test -s star.svg
        test -s again.graphml'
    inside apt-get install -y -q --no-install-recommends gcc libc6-dev pkg-config >/dev/null
    cp "$root/tests/tools/embed.c" "$root/topologies/template/logsparse.c" "$bare/root/"
    # shellcheck disable=SC2016 # the words are for the shell inside
    inside sh -euc '
        cd /root
        cc -std=c17 embed.c -o embed $(pkg-config --cflags --libs gsa)
        ./embed
        cc -std=c17 -shared -fPIC logsparse.c -o logsparse.so $(pkg-config --cflags gsa)
        gsa topology check ./logsparse.so >/dev/null'
    inside apt-get purge -y -q gsa gsa-inspect libgsa-dev libgsa0 >/dev/null
    [ -z "$(traces)" ] || fail "after the purge there is still: $(traces | head -n 3)"
    echo "packages: installed, used, purged"
}

try_quickstart_there()
{
    mkdir "$bare/root/gsa"
    tar -c -C "$root" --exclude=./build --exclude=./out --exclude=./.git . | tar -x -C "$bare/root/gsa"
    inside sh -euc '
        cd /root/gsa
        ./tools/quickstart
        build/gsa-inspect out/quickstart/star.graphml >/dev/null'
    echo "quickstart: from nothing to a model"
}

[ "$what" = quickstart ] || try_packages_there
[ "$what" = packages ] || try_quickstart_there
