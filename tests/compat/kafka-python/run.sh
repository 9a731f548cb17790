#!/usr/bin/env bash
# KAFKA=127.0.0.1:9092 ./run.sh [prepare | what pytest takes]; QUICK=1 runs the subset; see ../pytest.sh.
exec "$(dirname "$0")/../pytest.sh" "$(basename "$(cd "$(dirname "$0")" && pwd)")" "$@"
