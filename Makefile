# Each target sets up what it needs.  You need Python 3.11 to 3.13 and make:
#   make demo      runs redis-ledger
#   make test      tests it
# All other steps: .venv/bin/python scripts/check.py --list

PYTHON ?= python3
BIN    := .venv/bin
RUN    := $(BIN)/python
# An active virtual environment or a PYTHONPATH must not affect ours.  Bytecode is kept: tests start hundreds of brokers.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-spark serve test test-all quick mutants sim soak check format generate bench site lock clean

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

setup: ## builds .venv with everything that development needs
	@$(PYTHON) scripts/venv.py dev

demo: ## runs the demo: real data, killed brokers, exactly-once results (about a minute)
	@$(PYTHON) scripts/venv.py demo
	@$(BIN)/redis-ledger demo

demo-spark: ## runs the demo with Spark: a killed driver, windows, Parquet, and a report (minutes; Java)
	@$(PYTHON) scripts/venv.py demo
	@$(RUN) scripts/spark.py run -m redis_ledger.app.tools.demo_spark

serve: ## runs a broker on port 8080 with an embedded Redis, data in .data/
	@$(PYTHON) scripts/venv.py demo
	@$(BIN)/redis-ledger serve --data-dir .data --http 127.0.0.1:8080

test: setup ## runs what a change must pass (11 minutes)
	@$(RUN) scripts/check.py test

test-all: setup ## runs that, full sizes, Spark, mutants, simulation and all Kafka clients (an hour or more)
	@$(RUN) scripts/check.py test-all

quick: setup ## runs tidy, unit, Lua and property tests (two minutes)
	@$(RUN) scripts/check.py quick

mutants: setup ## plants bugs one at a time; named tests must catch each of them (minutes)
	@$(RUN) scripts/check.py mutants

sim: setup ## runs the simulation: planted bugs, then random seeds with failures (5 minutes)
	@$(RUN) scripts/check.py sim

soak: setup ## runs the simulation until 100 000 transactions and 200 kills on each topology (hours)
	@$(RUN) scripts/check.py soak

check: setup ## checks format, lint, types, layers and tidy rules
	@$(RUN) scripts/check.py check

format: setup ## formats the code and applies ruff's fixes
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

generate: setup ## generates protobuf and Kafka messages, the sync client, and reference pages
	@$(RUN) scripts/gen_proto.py
	@$(RUN) scripts/gen_wire.py
	@$(RUN) scripts/unasync.py
	@$(RUN) scripts/gen_docs.py

bench: setup ## measures and writes bench/results/latest.jsonl (under 10 minutes)
	@$(RUN) -m bench

# One of the benches that scripts/check.py lists, such as bench-txn.
bench-%: setup
	@$(RUN) scripts/check.py $@

site: setup ## builds the documentation site in build/site/ and checks its links
	@$(RUN) scripts/check.py site

lock: setup ## resolves requirements/*.lock from pyproject.toml (needs uv)
	@$(RUN) scripts/lock.py

clean: ## removes .venv, caches and build results; keeps data
	rm -rf .venv .venv.lock lua/.prepared.cache* dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
