"""The same client tools against redis-ledger and against a real Apache Kafka, server by server; see README.md."""
