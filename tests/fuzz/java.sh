#!/usr/bin/env bash
# Kafka's own tools, one after the other, against the broker at KAFKA: for `python -m tests.fuzz.record java -- tests/fuzz/java.sh`.
# JARS is the folder with kafka-tools and what it needs; the bench's toolbox (bench/kafka_peer) makes one.
set -uo pipefail
: "${KAFKA:?is the address of the broker, host:port}"
JARS=${JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/redis-ledger/kafka-peer/tools}
T=org.apache.kafka.tools
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

tool() {
  local class=$1
  shift
  echo "-- $class $*" >&2
  timeout 60 java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$JARS/*" "$T.$class" "$@" >"$dir/out" 2>&1 || tail -3 "$dir/out" >&2
}
at=(--bootstrap-server "$KAFKA")

tool TopicCommand "${at[@]}" --create --topic in --partitions 3 --config retention.ms=3600000
tool TopicCommand "${at[@]}" --create --topic out
tool TopicCommand "${at[@]}" --describe
tool TopicCommand "${at[@]}" --alter --topic out --partitions 2
for codec in none gzip snappy lz4 zstd; do
  tool ProducerPerformance --topic in --num-records 300 --record-size 40 --throughput -1 \
    --bootstrap-server "$KAFKA" --command-property compression.type=$codec linger.ms=5
done
tool ProducerPerformance --topic out --num-records 60 --record-size 20 --throughput -1 --transaction-duration-ms 5 --transactional-id pay \
  --bootstrap-server "$KAFKA"
tool ConsumerPerformance "${at[@]}" --topic in --num-records 1500 --group classic --timeout 10000
printf 'group.protocol=consumer\nisolation.level=read_committed\n' >"$dir/consumer"
tool ConsumerPerformance "${at[@]}" --topic out --num-records 60 --group modern --timeout 10000 --command-config "$dir/consumer"
printf 'group.instance.id=static\nenable.auto.commit=true\nauto.commit.interval.ms=100\nauto.offset.reset=earliest\n' >"$dir/static"
tool consumer.ConsoleConsumer "${at[@]}" --topic in --group classic-static --command-config "$dir/static" --max-messages 20 --timeout-ms 8000
tool consumer.group.ConsumerGroupCommand "${at[@]}" --list --state
tool consumer.group.ConsumerGroupCommand "${at[@]}" --describe --all-groups
tool consumer.group.ConsumerGroupCommand "${at[@]}" --describe --members --verbose --all-groups
tool consumer.group.ConsumerGroupCommand "${at[@]}" --group classic --reset-offsets --topic in --to-earliest --execute
tool consumer.group.ConsumerGroupCommand "${at[@]}" --group classic --delete-offsets --topic in
tool consumer.group.ConsumerGroupCommand "${at[@]}" --group classic --delete
tool GroupsCommand "${at[@]}" --list
tool GetOffsetShell --bootstrap-server "$KAFKA" --topic in --time -3
tool GetOffsetShell --bootstrap-server "$KAFKA" --topic in --time earliest
tool TransactionsCommand "${at[@]}" list
tool TransactionsCommand "${at[@]}" describe --transactional-id pay
tool TransactionsCommand "${at[@]}" describe-producers --topic out --partition 0
tool TransactionsCommand "${at[@]}" find-hanging --broker-id 1
tool TransactionsCommand "${at[@]}" abort --topic out --partition 0 --start-offset 0
tool LogDirsCommand "${at[@]}" --describe
tool BrokerApiVersionsCommand "${at[@]}"
echo '{"partitions":[{"topic":"in","partition":0,"offset":2}],"version":1}' >"$dir/offsets"
tool DeleteRecordsCommand "${at[@]}" --offset-json-file "$dir/offsets"
tool TopicCommand "${at[@]}" --delete --topic in
