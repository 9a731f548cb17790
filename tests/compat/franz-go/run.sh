#!/usr/bin/env bash
# Runs kgo's own tests, and those of this folder, against the brokers at KAFKA (host:port, or several with commas between).
#
#   KAFKA=127.0.0.1:9092 ./run.sh           all of them
#   KAFKA=... QUICK=1 ./run.sh              those marked quick in tests.allow
#   KAFKA=... ./run.sh TestTxnEtl           what `go test -run` takes; compares nothing
#   ./run.sh prepare                        builds the test binary
#
# RECORDS  records of the ETL tests, 10000 (kgo's own default is 500000)
# OUT      folder of the logs, build/;  DEADLINE_S  280
# What else kgo's tests read works too: KGO_TEST_SCRAM, KGO_TEST_SCRAM_SEEDS, KGO_TEST_UNSAFE, KGO_LOG_LEVEL.
set -euo pipefail
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
OUT=${OUT:-build}
BINARY=build/kgo.test OWN=build/own.test
QUICKLY=("-gcflags=all=-N -l" "-ldflags=-s -w")

is_built() {
  [ -x "$BINARY" ] && [ -x "$OWN" ] && [ -z "$(find go.mod go.sum ./*.go -newer "$OWN")" ] && command -v go >/dev/null
}

prepare() {
  ! is_built || return 0
  command -v go >/dev/null || { echo "franz-go needs go (1.26 or newer) on PATH" >&2; exit 1; }
  echo "building kgo's tests (half a minute)" >&2
  mkdir -p build
  # Without optimization and debug data the first build takes two thirds of the time, and the tests wait anyway.
  go test -c "${QUICKLY[@]}" -o "$BINARY" github.com/twmb/franz-go/pkg/kgo
  go test -c "${QUICKLY[@]}" -o "$OWN" .
}

if [ "${1:-}" = prepare ]; then
  prepare
  exit
fi
: "${KAFKA:?is the address of the brokers, host:port}"
prepare
mkdir -p "$OUT"

pattern=. flags=()
if [ -n "${1:-}" ]; then
  pattern=$1
elif [ "${QUICK:-}" = 1 ]; then
  pattern=$("$PYTHON" ../allow_list.py gorun .) flags=(--quick)
fi

export KGO_SEEDS=$KAFKA KGO_TEST_RF=1 KGO_TEST_RECORDS=${RECORDS:-10000} KGO_LOG_LEVEL=${KGO_LOG_LEVEL:-info}
code=0
# Some tests read kgo's sources, from the folder that `go test` runs in.
here=$PWD sources=$(go list -f '{{.Dir}}' github.com/twmb/franz-go/pkg/kgo)
# Most wait rather than work, so more of them run at once than there are cores.
flags_of_go=(-test.v=test2json -test.count=1 "-test.parallel=${PARALLEL:-4}" "-test.timeout=${DEADLINE_S:-280}s")
(cd "$sources" && go tool test2json -t "$here/$BINARY" "${flags_of_go[@]}" -test.run "$pattern") \
  >"$OUT/results.json" || code=$?
go tool test2json -t "$OWN" "${flags_of_go[@]}" -test.run "$pattern" >>"$OUT/results.json" || code=$?
if [ -n "${1:-}" ]; then
  "$PYTHON" ../allow_list.py show "$OUT/results.json"
  exit "$code"
fi
"$PYTHON" ../allow_list.py judge . "$OUT/results.json" ${flags[@]+"${flags[@]}"}
