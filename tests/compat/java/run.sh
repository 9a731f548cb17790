#!/usr/bin/env bash
# Runs the Java clients and Kafka's command line tools against the brokers at KAFKA (host:port, or several with commas).
#
#   KAFKA=127.0.0.1:9092 ./run.sh           all cases
#   KAFKA=... QUICK=1 ./run.sh              those marked quick in tests.allow
#   KAFKA=... ./run.sh NAME...              these; compares nothing
#   ./run.sh prepare                        resolves the jars and compiles
#
# OUT  folder of the logs, build/;  KAFKA_CLIENTS  another version of kafka-clients for `prepare`, after rm -r build
set -euo pipefail
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
OUT=${OUT:-build}

is_built() {
  [ -e build/stamp ] && [ -z "$(find pom.xml src -newer build/stamp)" ] && command -v java >/dev/null
}

prepare() {
  ! is_built || return 0
  command -v mvn >/dev/null || { echo "java needs mvn and a JDK (17 or newer) on PATH" >&2; exit 1; }
  echo "resolving Kafka's jars and compiling (a minute)" >&2
  rm -rf build/classes build/lib build/stamp
  mvn -q -B ${KAFKA_CLIENTS:+"-Dkafka.version=$KAFKA_CLIENTS"} compile dependency:copy-dependencies >&2
  touch build/stamp
}

if [ "${1:-}" = prepare ]; then
  prepare
  exit
fi
: "${KAFKA:?is the address of the brokers, host:port}"
prepare
mkdir -p "$OUT"
rm -f "$OUT/results.txt"

flags=() names=("$@")
if [ "${QUICK:-}" = 1 ] && [ $# = 0 ]; then
  flags=(--quick)
  while read -r name; do names+=("$name"); done < <("$PYTHON" ../allow_list.py names . --quick)
fi
code=0
COMPAT_RESULTS=$(cd "$OUT" && pwd)/results.txt java -Xmx384m -XX:TieredStopAtLevel=1 \
  -Dorg.slf4j.simpleLogger.defaultLogLevel="${LOG_LEVEL:-error}" \
  -cp "build/classes:build/lib/*" Main ${names[@]+"${names[@]}"} || code=$?
[ $# = 0 ] || exit "$code"
"$PYTHON" ../allow_list.py judge . "$OUT/results.txt" ${flags[@]+"${flags[@]}"}
