# Every target sets up what it needs first.  On a machine with Python 3.11 to 3.13 and make, these two are enough:
#   make demo      runs it
#   make test      tests it

PYTHON ?= python3
BIN    := .venv/bin
RUN    := $(BIN)/python
# A virtual environment that happens to be active, or a PYTHONPATH, must not leak into ours; and brokers that tests start
# by the hundred must not be compiled each time.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-demo demo demo-spark serve quick check test fmt format lint types layers tidy unit lua property integration spec \
	crash crash-slow attack compat compat-quick fuzz setup-spark spark spark-quick upgrade console console-screenshots image proto wire sync docs site lock sbom bench bench-kafka bench-delay bench-growth bench-spark chart build clean

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

setup: ## builds .venv with everything development needs
	@$(PYTHON) scripts/venv.py dev

setup-demo:
	@$(PYTHON) scripts/venv.py demo

demo: setup-demo ## runs the demo: real data, killed brokers, exactly-once results (about a minute)
	@$(BIN)/redis-ledger demo

demo-spark: setup-demo ## the same through Spark: a killed driver, windows, Parquet, and a report (minutes; Java, or the wheel of one)
	@$(RUN) scripts/spark.py run -m redis_ledger.app.tools.demo_spark

serve: setup-demo ## runs a broker on port 8080 with its own Redis, data in .data/
	@$(BIN)/redis-ledger serve --data-dir .data --http 127.0.0.1:8080

quick: setup ## unit, Lua, property and tidy tests (about a minute)
	@$(RUN) scripts/check.py quick

check: setup ## format, lint, types, layers, tidy
	@$(RUN) scripts/check.py check

test: setup ## everything (under 20 minutes)
	@$(RUN) scripts/check.py test

format lint types layers tidy unit lua property integration spec crash crash-slow attack: setup
	@$(RUN) scripts/check.py $@

fmt: setup ## formats the code and mends what ruff can mend
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

proto: setup ## generates redis_ledger/proto/ from proto/
	@$(RUN) scripts/gen_proto.py

wire: setup ## generates redis_ledger/kafka/protocol/messages/ from the schemas beside it
	@$(RUN) scripts/gen_wire.py

sync: setup ## generates the sync client from the async one
	@$(RUN) scripts/unasync.py

docs: setup ## generates the tables of docs/reference/ and the index of docs/decisions/
	@$(RUN) scripts/gen_docs.py

site: setup ## builds the documentation site in build/site/ and checks its links; `.venv/bin/python scripts/site.py serve` shows it while you write
	@$(RUN) scripts/check.py site

lock: setup ## resolves requirements/*.lock again from pyproject.toml (needs uv)
	@$(RUN) scripts/lock.py

sbom: setup ## writes dist/sbom.cdx.json, the bill of materials of an installation (CycloneDX)
	@$(RUN) scripts/sbom.py

bench: setup ## measures and writes bench/results/latest.jsonl (under 10 minutes)
	@$(RUN) -m bench

bench-kafka: setup ## measures against a real Apache Kafka in one run (under 40 minutes; needs a JDK and Maven)
	@$(RUN) -m bench.kafka_peer

bench-delay: setup ## measures delivery of scheduled records (under 10 minutes)
	@$(RUN) -m bench.delay

bench-growth: setup ## measures what the cost grows with: waiting, partitions, brokers (under 10 minutes)
	@$(RUN) -m bench.growth

bench-spark: setup ## measures reading and writing with Spark, and offloading (under 10 minutes; needs Java)
	@$(RUN) -m bench.spark

compat: setup ## runs real Kafka clients against one broker, then three (Go, a JDK and Maven for two of them; about 15 minutes)
	@$(RUN) scripts/compat.py

compat-quick: setup ## their quick part, some with three brokers (under 4 minutes; leaves out Go and Java where they cannot be built)
	@$(RUN) scripts/check.py compat

setup-spark: setup ## builds Spark's own environment in the user's cache (half a gigabyte; Java 17, or the wheel of one)
	@$(RUN) scripts/spark.py setup

spark: setup ## runs the tests of reading and writing topics with Spark, on a real one, and on a small cluster
	@$(RUN) scripts/check.py spark

spark-quick: setup ## their quick part (under 6 minutes)
	@$(RUN) scripts/check.py spark-quick

upgrade: setup ## replaces brokers of the release before by this one under load, and puts one back (minutes; git history, redis-server)
	@$(RUN) scripts/check.py upgrade

console: setup ## looks at the console in a real browser, the machine's Chromium (a few minutes)
	@$(RUN) scripts/check.py console

console-screenshots: setup ## takes the pictures of docs/howto/console.md anew
	@$(RUN) scripts/browser.py screenshots

image: setup ## builds the container image by the Dockerfile's steps, without a container engine, and tests it (root, debootstrap)
	@$(RUN) scripts/check.py image

fuzz: setup ## sends mutated requests to the Kafka and REST ports for ten minutes
	@$(RUN) scripts/fuzz.py --seconds 600

chart: setup ## renders the Helm chart, holds it against Kubernetes' schemas, tries its alerts, starts it as rendered (Go, once; a minute)
	@$(RUN) scripts/chart_tools.py
	@$(RUN) scripts/check.py chart

build: setup ## builds the wheel and the sdist into dist/
	@$(RUN) -m build --no-isolation

clean: ## removes .venv, caches and build results; keeps data
	rm -rf .venv .venv.lock dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
