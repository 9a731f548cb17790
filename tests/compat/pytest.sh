#!/usr/bin/env bash
# Runs the Python suite of a folder and compares it with the folder's tests.allow.  Called by the run.sh beside the tests:
#
#   pytest.sh FOLDER                   all;  QUICK=1: those marked quick in tests.allow
#   pytest.sh FOLDER -k abort ...      what pytest takes; compares nothing
#   pytest.sh FOLDER prepare           builds tests/compat/.venv
set -euo pipefail
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
folder=$1
shift

[ "${1:-}" != prepare ] || exec "$PYTHON" environment.py
: "${KAFKA:?is the address of the brokers, host:port}"
"$PYTHON" environment.py
OUT=${OUT:-$folder/build}
mkdir -p "$OUT"
: >"$OUT/results.txt"

flags=()
[ "${QUICK:-}" != 1 ] || flags=(--quick)
code=0
COMPAT_RESULTS=$(cd "$OUT" && pwd)/results.txt PYTHONPATH=../.. .venv/bin/python -P -m pytest -c pytest.ini --rootdir ../.. \
  "$folder" "$@" || code=$?
[ $# = 0 ] || exit "$code"
"$PYTHON" allow_list.py judge "$folder" "$OUT/results.txt" ${flags[@]+"${flags[@]}"}
