"""The Kafka listener: maps requests of Kafka clients to calls of `broker/`."""
