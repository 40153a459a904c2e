#!/usr/bin/env bash
# install.sh BUILD SOURCE CC CMAKE FLAGS - installs into a new folder; then a program through pkg-config, the same through
# find_package, a plugin, the manual page and the completion must work from there alone.
set -euo pipefail
build=$1 source=$2 cc=$3 cmake=$4 flags=$5
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
export ASAN_OPTIONS=detect_leaks=1

"$cmake" --install "$build" --prefix "$prefix/usr" >"$prefix/log"
export PKG_CONFIG_PATH=$prefix/usr/lib/pkgconfig
for folder in "$prefix"/usr/lib/*/pkgconfig; do
    [ -d "$folder" ] && PKG_CONFIG_PATH=$folder:$PKG_CONFIG_PATH
done

# shellcheck disable=SC2046,SC2086 # flags are lists
"$cc" -std=c17 -Wall -Wextra -Werror $flags "$source/tests/tools/embed.c" -o "$prefix/embed" $(pkg-config --cflags --libs gsa)
lib=$(dirname "$(find "$prefix/usr" -name libgsa.a)")
export LD_LIBRARY_PATH=$lib
"$prefix/embed"

# The programs of docs/library.md, as C17 and as C++17.
program() # NAME PAGE
{
    # shellcheck disable=SC2016 # backquotes of the page
    sed -n '/^```c file=out\/'"$1"'.c$/,/^```$/{/^```/d;p}' "$source/docs/$2" >"$prefix/$1.c"
    # shellcheck disable=SC2046,SC2086 # flags are lists
    "$cc" -std=c17 -Wall -Wextra -Werror -Wno-missing-field-initializers $flags "$prefix/$1.c" -o "$prefix/$1" $(pkg-config --cflags --libs gsa)
}
for name in attend train; do
    program $name library.md
    "$prefix/$name" >"$prefix/$name.log"
    command -v g++ >/dev/null || continue
    # shellcheck disable=SC2046,SC2086
    g++ -std=c++17 -x c++ -Wall -Wextra -Werror -Wno-missing-field-initializers $flags "$prefix/$name.c" -x none -o "$prefix/$name-c++" $(pkg-config --cflags --libs gsa)
    "$prefix/$name-c++" | cmp - "$prefix/$name.log"
done
grep -q '^55 rows read 55 sources by 296 edges; out\[0\] = 0.1429, dv' "$prefix/attend.log"
grep -q '^trained: loss 0.0[0-9]*$' "$prefix/train.log"

# The example of a task, as C17 and as C++17: trained, evaluated and asked by the installed command.
cp "$prefix/usr/share/doc/gsa/examples/trend.c" "$prefix/trend.c"
# shellcheck disable=SC2046,SC2086
"$cc" -std=c17 -Wall -Wextra -Werror $flags -shared -fPIC "$prefix/trend.c" -o "$prefix/trend.so" $(pkg-config --cflags gsa)
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2046,SC2086
    g++ -std=c++17 -x c++ -Wall -Wextra -Werror -Wno-missing-field-initializers $flags -shared -fPIC "$prefix/trend.c" -o "$prefix/trend-c++.so" $(pkg-config --cflags gsa)
fi
awk 'BEGIN { for (i = 0; i < 600; i++) { s = (i * 37 % 200 - 100) / 100; printf "%.2f\t", s
    for (k = 0; k < 6 + i % 9; k++) printf "%s%.3f", k ? " " : "", i % 11 / 11 + s * k / 10; print "" } }' >"$prefix/series.tsv"
printf '[task]\nname = trend\n[model]\nencoder = ring*2\nhidden = 32\nheads = 4\nposition = sinusoid\n[train]\nepochs = 20\nlr = 0.003\n[data]\ntrain = %s\ntest = %s\n' \
    "$prefix/series.tsv" "$prefix/series.tsv" >"$prefix/trend.ini"
for plugin in "$prefix/trend.so" "$prefix"/trend-*.so; do
    [ -e "$plugin" ] || continue
    "$prefix/usr/bin/gsa" train "$prefix/trend.ini" --plugin "$plugin" --out "$plugin.run" --quiet >"$prefix/log"
    "$prefix/usr/bin/gsa" eval --model "$plugin.run" 2>/dev/null | sed 's/, "seconds".*//' >"$plugin.log"
    grep -q '^{"task": "trend", .*"test_mse": 0[.]0[0-9]*' "$plugin.log"
    cmp "$plugin.log" "$prefix/trend.so.log"
done
cut -f2 "$prefix/series.tsv" | "$prefix/usr/bin/gsa" predict --model "$prefix/trend.so.run" 2>/dev/null | wc -l | grep -qx 600

# The shared library exports what public headers declare, and each of these names is there.
nm -D --defined-only "$lib/libgsa.so" | awk '$3 !~ /^GSA_/ { sub(/@.*/, "", $3); print $3 }' | sort >"$prefix/exported"
sed -n 's/^ *\(gsa_[A-Za-z0-9_]*\);$/\1/p' "$build/gsa.map" | sort >"$prefix/declared"
[ -s "$prefix/exported" ] && [ -z "$(comm -23 "$prefix/exported" "$prefix/declared")" ]
# The archive holds all that the same program needs.
static=$(pkg-config --cflags --libs --static gsa | sed 's/-lgsa /-l:libgsa.a /')
# shellcheck disable=SC2086 # flags are lists
"$cc" -std=c17 $flags "$source/tests/tools/embed.c" -o "$prefix/embed-static" $static
LD_LIBRARY_PATH='' "$prefix/embed-static"

# The program of docs/models.md and another one open a model that the installed command has trained. The page's two fragments compile.
program answer models.md
awk -v at="$prefix/models-" '/^```c$/ { file = at (++n) ".inc"; next } /^```/ { file = "" } file { print >file }' "$source/docs/models.md"
# shellcheck disable=SC2046,SC2086
"$cc" -std=c17 -Wall -Wextra -Werror -Wno-missing-field-initializers $flags -I "$prefix" $(pkg-config --cflags gsa) -c "$source/tests/tools/models_page.c" -o "$prefix/models_page.o"
# shellcheck disable=SC2046,SC2086
"$cc" -std=c17 -Wall -Wextra -Werror -Wno-missing-field-initializers $flags "$source/tests/tools/use_model.c" -o "$prefix/use_model" $(pkg-config --cflags --libs gsa)
"$prefix/usr/bin/gsa" train "$prefix/usr/share/gsa/recipes/masked-summation-small.ini" --set train.max_steps=1 \
    --set task.train=32 --set task.dev=8 --set task.test=8 --out "$prefix/run" --quiet >"$prefix/log"
# A recipe by its name, from a folder that has nothing to do with the installation; a wrong name is told the nearest one.
mkdir "$prefix/elsewhere"
(cd "$prefix/elsewhere" && ../usr/bin/gsa train masked-summation-small --set train.max_steps=1 --set task.train=32 \
    --set task.dev=8 --set task.test=8 --quiet) >"$prefix/log"
grep -q '"task": *"masked_summation"' "$prefix/log"
if "$prefix/usr/bin/gsa" train sst5-sta --quiet 2>"$prefix/log"; then exit 1; fi
grep -q "no file 'sst5-sta'.*the nearest is 'sst5-star'" "$prefix/log"
"$prefix/use_model" "$prefix/run" >"$prefix/log"
grep -q '"test_mse": [0-9.]*, .*"test_examples": 8' "$prefix/log"
"$prefix/answer" "$prefix/run" "1 .1 .2 .3 .4" "0 .1 .2 .3 .4" >"$prefix/log"
[ "$(wc -l <"$prefix/log")" -eq 2 ]
if "$prefix/answer" "$prefix/run" "1 .1 two" 2>"$prefix/log"; then exit 1; fi
grep -q "^the text:1: no finite number in column 3" "$prefix/log"
if "$prefix/use_model" "$prefix/nowhere" 2>"$prefix/log"; then exit 1; fi
grep -q "^'.*/nowhere' is no folder of checkpoints" "$prefix/log"

# shellcheck disable=SC2046,SC2086
"$cc" -std=c17 -Wall -Wextra -Werror $flags -shared -fPIC "$source/tests/tools/plugin.c" -o "$prefix/plugin.so" $(pkg-config --cflags gsa)
"$prefix/usr/bin/gsa" graph --plugin "$prefix/plugin.so" --topology pairs --length 4 --out "$prefix/pairs.mtx" 2>"$prefix/log"
grep -q '4 nodes, 4 edges' "$prefix/log"

# The template as it stands, and a copy by the installed command: with the installed header alone, by CMake and by the compiler.
cp -r "$source/topologies/template" "$prefix/template"
"$cmake" -S "$prefix/template" -B "$prefix/template/build" -DCMAKE_PREFIX_PATH="$prefix/usr" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="$flags" >"$prefix/log"
"$cmake" --build "$prefix/template/build" >"$prefix/log"
"$prefix/usr/bin/gsa" topology check "$prefix/template/build/logsparse.so" --patience 60000 >"$prefix/log"
"$prefix/usr/bin/gsa" topology new copied --out "$prefix/copied" >"$prefix/log"
# shellcheck disable=SC2046,SC2086
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror $flags -shared -fPIC "$prefix/copied/copied.c" -o "$prefix/copied.so" $(pkg-config --cflags gsa)
"$prefix/usr/bin/gsa" topology check "$prefix/copied.so:causal=0" --patience 60000 >"$prefix/log"
grep -q '^copied:causal=0$' "$prefix/log"

mkdir "$prefix/project"
cp "$source/tests/tools/embed.c" "$prefix/project/"
cat >"$prefix/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(embed C)
find_package(gsa 0.1 REQUIRED)
add_executable(embed embed.c)
target_link_libraries(embed gsa::gsa)
END
"$cmake" -S "$prefix/project" -B "$prefix/project/build" -DCMAKE_PREFIX_PATH="$prefix/usr" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="$flags" >"$prefix/log"
"$cmake" --build "$prefix/project/build" >"$prefix/log"
"$prefix/project/build/embed"

grep -q '^.TH GSA 1' "$prefix/usr/share/man/man1/gsa.1"
[ ! -x "$prefix/usr/bin/gsa-inspect" ] || grep -q '^.TH GSA-INSPECT 1' "$prefix/usr/share/man/man1/gsa-inspect.1"
grep -q '^. `encoder =' "$prefix/usr/share/doc/gsa/docs/recipe-keys.md"
# The installed README's links lead somewhere.
cd "$prefix"/usr/share/doc/gsa
for page in README.md docs/*.md; do
    (cd "$(dirname "$page")" && { grep -o ']([^)#: ]*[)#]' "$(basename "$page")" || true; } | sed 's/^](//; s/[)#]$//' | while read -r link; do
        [ -z "$link" ] || [ -e "$link" ] || { echo "$page: a link to $link leads nowhere"; exit 1; }
    done) || exit 1
done
bash -n "$prefix/usr/share/bash-completion/completions/gsa"
[ -s "$prefix/usr/share/gsa/recipes/masked-summation.ini" ]
echo "installed, linked, loaded"
