#!/usr/bin/env bash
# Checks that the committed JupyterLab extension is the output of its source. It is committed so that neither `go build`
# nor the wheel needs Node. With an argument, `write`, the output replaces it.
set -euo pipefail
cd "$(dirname "$0")/../python/labextension"

# Newer than the lock file means installed by it.
if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --ignore-scripts --no-audit --loglevel=error >/dev/null
    touch node_modules/.package-lock.json
fi
# Built in another folder: the place must make no difference, and the tree stays as it is.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lab=$work/python/labextension
mkdir -p "$lab" "$work/internal/words"
cp -r ../../internal/words/web "$work/internal/words"
cp -r src style core node_modules ./*.json ./*.js ./*.mjs "$lab"
log=$work/build.log
(cd "$lab" && npm run build --loglevel=error) >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
if [ "${1:-}" = write ]; then
    rm -rf built
    cp -r "$lab/built" .
    exit
fi
diff -rq "$lab/built" built >&2 || {
    echo "check-lab: python/labextension/built is not what its source gives; run 'make lab' and commit" >&2
    exit 1
}
