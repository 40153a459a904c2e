#!/usr/bin/env bash
# guide.sh BUILD SOURCE FILE.md... - runs the commands of documentation pages word for word, with another build tree as build/: in a new
# folder that has everything of the project but build/ and out/.
set -euo pipefail
build=$1 source=$2
shift 2
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
export ASAN_OPTIONS=detect_leaks=1
for entry in "$source"/*; do
    case $(basename "$entry") in
    build | out) ;;
    *) ln -s "$entry" "$project/" ;;
    esac
done
ln -s "$build" "$project/build"
"$project/tools/readme-commands" "$@" >"$project/log" 2>&1 || { cat "$project/log"; exit 1; }
tail -n 1 "$project/log"
