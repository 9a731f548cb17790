"""The Kafka port: requests of Kafka clients to the calls of `broker/`, and back."""
