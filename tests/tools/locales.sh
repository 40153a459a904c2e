#!/usr/bin/env bash
# locales.sh GSA PLUGIN - the command's core under four locales, of which two have another decimal point or another
# alphabet's case, and two time zones: the same bytes. Exits with 77 where localedef is not here.
set -euo pipefail
gsa=$(realpath "$1") plugin=$(realpath "$2")
if ! command -v localedef >/dev/null || [ ! -d /usr/share/i18n/locales ]; then
    echo "no localedef (package locales): skipped"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LOCPATH=$work/locales
mkdir "$LOCPATH"
for name in de_DE tr_TR; do localedef -i "$name" -f UTF-8 "$LOCPATH/$name.UTF-8" || [ -d "$LOCPATH/$name.UTF-8" ]; done
cp -r /usr/lib/locale/C.utf8 "$LOCPATH/C.UTF-8" 2>/dev/null || localedef -i C -f UTF-8 "$LOCPATH/C.UTF-8"
[ "$(LC_ALL=de_DE.UTF-8 locale decimal_point)" = , ] || { echo "de_DE.UTF-8 was not made"; exit 1; }

printf '%s\t%s\n' Gut 'ein fähiger FILM Iı' schlecht 'İstanbul 1,5 nicht' Gut 'très fin' schlecht 'öde' >text.tsv
printf '[task]\nname = text_classification\n[model]\nencoder = bpt:k=2,star\nhidden = 8\nheads = 2\n[train]\nlr = 0.015\nbatch = 2\nepochs = 3\n[data]\ntrain = text.tsv\ndev = text.tsv\ntest = text.tsv\nlower = 1\n' >text.ini
core()
{
    local format
    for format in graphml dot mtx html json csv; do
        "$gsa" graph --topology window:width=3,star --text 'Iı ß 1.5 é' --format "$format"
    done
    "$gsa" graph --plugin "$plugin" --topology golden:scale=0.75:gap=4 --length 9 --format dot
    "$gsa" topologies --json
    "$gsa" train text.ini --out run --threads 1 --quiet
    "$gsa" eval --model run --json eval.json --report eval.txt --quiet
    "$gsa" predict --model run --quiet --proba all 'FÄHIGER film ISTANBUL'
    "$gsa" attend --model run --text 'fin IŞIK' --format csv
    "$gsa" chart run/log.jsonl --x step --y train_loss --where kind=epoch --out loss.svg
    "$gsa" table run | cut -d '|' -f 1-5
    "$gsa" report run --out report.html
    cat eval.json eval.txt loss.svg report.html run/log.jsonl run/config.ini run/step-*/{model.safetensors,vocab.txt,labels.txt}
}
export gsa plugin
export -f core
reference=
for locale in C C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
    for zone in UTC Asia/Kathmandu; do
        folder=$locale-${zone##*/}
        mkdir "$folder" && cp text.* "$folder"
        (cd "$folder" && LC_ALL=$locale TZ=$zone bash -euc core 2>said) |
            sed -E 's/"(seconds|tokens_per_second)": ?[0-9.e+-]+/"\1": 0/g' >"$folder.out"
        [ -n "$reference" ] || reference=$folder.out
        diff "$reference" "$folder.out" | cut -c 1-200 | head -8 >diff.txt || true; [ ! -s diff.txt ] || { cat diff.txt; exit 1; }
    done
done
echo "locales: 8 of 8 gave the same $(wc -c <"$reference") bytes"
