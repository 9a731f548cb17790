"""Every tunable of the broker, its unit in its name, and the only place a default is written.

`app/process/settings.py` fills it from the command line and the environment
(REDIS_LEDGER_<NAME>); nothing else reads either.
`docs/reference/settings.md` is generated from the comments here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    prefix: str = "rl"  # first part of every key; two brokers with different prefixes do not see each other
    coordinators: int = 16  # transaction coordinators; can grow, never shrink
    # topics
    auto_create_topics: bool = True  # producing or subscribing to an unknown topic creates it
    num_partitions: int = 1  # of a topic created without a number (Kafka: num.partitions)
    partitions_max: int = 1_000  # most partitions one topic may have
    retention_ms: int = 604_800_000  # records older than this are trimmed; -1 keeps them (Kafka: retention.ms)
    retention_bytes: int = -1  # payload bytes kept per partition; -1 is no limit (Kafka: retention.bytes)
    retention_acknowledged: bool = False  # on: both trim only what every subscription of the topic has acknowledged
    ledger_bytes_max: int = 67_108_864  # a payload ledger is sealed when it holds this many bytes
    ledger_age_ms_max: int = 3_600_000  # or when it is this old and holds something, whether or not anybody appends
    # requests
    body_bytes_max: int = 16_777_216  # largest HTTP body
    records_per_request_max: int = 10_000  # most records of one produce, receive or acknowledge
    batch_bytes_max: int = 8_388_608  # largest record batch (Kafka: message.max.bytes)
    batch_records_max: int = 100_000  # most records of one batch
    key_bytes_max: int = 65_536  # longest record key
    record_headers_max: int = 10_000  # most headers of a record that is sent as JSON, or that the broker decodes
    headers_max: int = 100_000  # most headers of one batch that is decoded, of one request and of one answer
    batch_decoded_bytes_max: int = 33_554_432  # most bytes of one batch's records, unpacked, that the broker decodes
    request_decoded_bytes_max: int = 67_108_864  # and of all batches that one request sends, or looks through
    decoded_bytes_max: int = 0  # and of all requests together, at any time; 0 is twice request_decoded_bytes_max
    wait_ms_max: int = 60_000  # longest long poll
    client_bytes_max: int = 134_217_728  # answers that clients have not read, and half requests (half of it), of all
    http_connections_max: int = 10_000  # open connections; further ones are closed, unless they ask for /livez only
    http_head_ms: int = 10_000  # a request's line and headers must be whole within this
    http_body_ms: int = 30_000  # and its body, plus a second for each 10 kB of it
    idempotency_key_ms: int = 86_400_000  # how long the answer to an Idempotency-Key is kept
    idempotency_lease_ms: int = 2_000  # how long a request that died with its broker holds up a repeat of it
    # transactions
    default_timeout_ms: int = 60_000  # of a transaction begun without one
    max_transaction_timeout_ms: int = 900_000  # longest timeout a transaction may ask for
    max_active_transactions_per_coordinator: int = 0  # open transactions one coordinator may have; 0 is no limit
    ended_status_retention_ms: int = 3_600_000  # how long the outcome of a transaction is kept; 0 is off, -1 no limit
    ended_status_max_records: int = 100_000  # and at most how many by one coordinator; 0 is off, -1 no limit
    transactional_id_expiration_ms: int = 604_800_000  # a transactional id not used for this long is forgotten
    end_overdue_ms: int = 1_000  # a decided transaction not finished by now is finished by whoever notices
    sweep_interval_ms: int = 500  # how often overdue work is looked for, at most
    tombstone_ms: int = 600_000  # how long a partition refuses late appends of an ended transaction by name
    transaction_log_batched_write_enabled: bool = True  # PIP-160: records of one flush share a log entry
    transaction_log_batched_write_max_records: int = 64  # most operations one coordinator call carries
    transaction_log_batched_write_max_size: int = 4_194_304  # most bytes one coordinator call carries
    transaction_log_batched_write_max_delay_ms: int = 1  # longest an operation that nobody awaits is held back
    # delayed delivery (PIP-195)
    delayed_delivery_enabled: bool = True  # off: records with a delay are delivered at once
    delayed_delivery_tick_time_ms: int = 2  # what falls due is gathered for so long; never early, late by this at most
    delayed_delivery_max_delay_ms: int = 0  # longest delay; 0 is no limit
    delayed_delivery_min_index_count_per_bucket: int = 50_000  # a bucket is sealed when it holds so many entries
    delayed_delivery_ledger_step_per_bucket: int = 0  # or when it spans so many ledgers; 0 is off
    delayed_delivery_max_time_step_per_segment_s: int = 300  # a segment of a sealed bucket spans at most so long
    delayed_delivery_min_indexes_per_segment: int = 500  # but is not cut smaller than this for that
    delayed_delivery_max_indexes_per_segment: int = 5_000  # and holds at most so many entries; -1 is no limit
    delayed_delivery_max_num_buckets: int = -1  # above so many sealed buckets some are merged; -1 is no limit
    delayed_delivery_load_ahead_ms: int = 5_000  # a segment is loaded so long before its first entry is due
    delayed_delivery_fire_chunk: int = 250  # most entries one call makes visible
    delayed_delivery_fire_per_s_max: int = 200_000  # most entries a second in one partition, also after an outage
    delayed_delivery_block_after_ms: int = 0  # due later than this: kept compressed, many records a block; 0 is off
    # subscriptions
    ack_timeout_ms: int = 30_000  # a delivered message not acknowledged by then is delivered again
    consumer_session_ms: int = 30_000  # an exclusive consumer that has not called for this long is gone
    # Kafka clients
    kafka_connections_max: int = 10_000  # open connections; further ones are closed
    kafka_request_bytes_max: int = 104_857_600  # largest request (Kafka: socket.request.max.bytes)
    kafka_inflight_bytes_max: int = 268_435_456  # requests being worked on; above it no more are read
    kafka_fetch_bytes_max: int = 57_671_680  # most records of one Fetch, whatever it asks for (Kafka: fetch.max.bytes)
    kafka_frame_ms: int = 30_000  # half a request is given up after this
    kafka_idle_ms: int = 600_000  # a silent connection is closed after this (Kafka: connections.max.idle.ms)
    tail_cache_bytes: int = 67_108_864  # newest batches kept in memory, so that reading at the tail reads no payload
    # security
    auth_required: bool = False  # every door asks who calls, and rules (ACLs) decide what it may do
    allow_everyone_if_no_acl: bool = False  # what no rule names is open to all (Kafka: allow.everyone.if.no.acl.found)
    super_users: str = ""  # whom no rule is asked for, such as User:ada;User:ops (Kafka: super.users)
    jwt_jwks: str = ""  # file or https URL of the keys (JWK set) of who issues JSON Web Tokens; takes the jwt extra
    jwt_issuer: str = ""  # who issues them (iss); needed beside jwt_jwks
    jwt_audience: str = ""  # for whom (aud); needed beside jwt_jwks, or tokens made for others would count here
    jwt_principal_claim: str = "sub"  # the claim whose value, after User:, is the principal
    bootstrap_token_file: str = ""  # file with a secret of 32 characters or more: the token of User:admin, a super user
    tls_certificate: str = ""  # file with the PEM chain of both ports, read anew when it changes; empty: plain text
    tls_key: str = ""  # file with its PEM key, not encrypted
    tls_kafka_listeners: str = ""  # of several Kafka listeners those that speak TLS, such as external; empty: all
    tls_client_ca: str = ""  # file with authorities; clients may then prove who they are by certificates of theirs
    tls_principal: str = "cn"  # whom one names: cn (User:<common name>) or dn (User:<whole subject>, as Kafka does)
    # quotas: of each principal on each broker; 0 is none, and what `redis-ledger quotas` sets wins
    quota_bytes_in_per_s: int = 0  # bytes of requests that write (Kafka: producer_byte_rate)
    quota_bytes_out_per_s: int = 0  # bytes of records read (Kafka: consumer_byte_rate)
    quota_requests_per_s: int = 0  # requests of any kind, health and metrics aside
    quota_open_transactions: int = 0  # transactions begun and not ended
    # consumer groups
    group_initial_rebalance_delay_ms: int = 100  # an empty group waits this long for more members (Kafka: 3 s)
    group_session_timeout_ms_min: int = 6_000  # least session timeout a member may ask for
    group_session_timeout_ms_max: int = 1_800_000  # and the most
    group_members_max: int = 3_000  # members of one group; Redis stores all of them in one step
    group_bytes_max: int = 134_217_728  # what members of all groups may hold in memory; more are refused
    group_heartbeat_ms: int = 5_000  # heartbeat interval of the consumer protocol (KIP-848)
    group_session_ms: int = 45_000  # session timeout of the consumer protocol (KIP-848)
    offsets_retention_ms: int = 604_800_000  # offsets of an empty group are kept this long after its last commit
    offset_metadata_bytes_max: int = 4_096  # metadata stored with an offset
    # history in Parquet
    offload_home: str = ""  # folder or URI of offloaded history: /var/lib/x, s3://bucket/prefix; empty: no offloading
    offload_cache_bytes: int = 67_108_864  # of history read back, kept in memory
    # metrics and traces
    metrics_topics_max: int = 100  # topics with series of their own in /metrics; the others share topic="other"
    metrics_partitions_max: int = 1_000  # partitions of them whose offsets are shown
    metrics_cursors_max: int = 1_000  # cursors (groups and subscriptions, by partitions) whose lag is read
    otel_enabled: bool = False  # on: traces go where OTEL_EXPORTER_OTLP_ENDPOINT and its like say; takes the otel extra
    # the link to Redis
    redis_timeout_ms: int = 10_000  # longest one call to Redis may take
    redis_retry_ms: int = 5_000  # how long a call that is safe to repeat is repeated before it fails
