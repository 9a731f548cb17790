"""The settings of the broker with their defaults; names include the unit.

`app/process/settings.py` reads them from the command line and the environment (REDIS_LEDGER_<NAME>).
`docs/reference/settings.md` is generated from the comments here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    prefix: str = "rl"  # first part of every Redis key; brokers with different prefixes are different clusters
    coordinators: int = 16  # number of transaction coordinators; may be increased, not reduced
    # topics
    auto_create_topics: bool = True  # producing or subscribing to an unknown topic creates it
    num_partitions: int = 1  # default number of partitions of a new topic (Kafka: num.partitions)
    partitions_max: int = 1_000  # maximum number of partitions of a topic
    retention_ms: int = 604_800_000  # records older than this are trimmed; -1: no limit (Kafka: retention.ms)
    retention_bytes: int = -1  # retained payload bytes per partition; -1: no limit (Kafka: retention.bytes)
    retention_acknowledged: bool = False  # on: only records that every subscription has acknowledged are trimmed
    ledger_bytes_max: int = 67_108_864  # a payload ledger of this size is sealed
    ledger_age_ms_max: int = 3_600_000  # a payload ledger of this age is sealed unless it is empty
    # requests
    body_bytes_max: int = 16_777_216  # maximum size of an HTTP body
    records_per_request_max: int = 10_000  # maximum records of one produce, receive or acknowledge
    batch_bytes_max: int = 8_388_608  # maximum size of a record batch (Kafka: message.max.bytes)
    message_timestamp_type: str = "CreateTime"  # CreateTime: records have their producer's time; or LogAppendTime
    message_timestamp_before_ms_max: int = 9_223_372_036_854_775_807  # a Kafka client's batch may be so much older
    message_timestamp_after_ms_max: int = 3_600_000  # a Kafka client's batch may be so far in the future
    batch_records_max: int = 100_000  # maximum records of a batch
    large_message_bytes_max: int = 67_108_864  # maximum size of a large message, up to 1 GiB; 0: disabled
    key_bytes_max: int = 65_536  # maximum size of a record key
    record_headers_max: int = 10_000  # maximum headers of a record that is sent as JSON or decoded by the broker
    headers_max: int = 100_000  # maximum headers of a decoded batch, of a request and of a response
    batch_decoded_bytes_max: int = 33_554_432  # maximum decompressed size of a batch that the broker decodes
    request_decoded_bytes_max: int = 67_108_864  # maximum decompressed size of all batches of a request
    decoded_bytes_max: int = 0  # the same for all concurrent requests; 0: twice request_decoded_bytes_max
    wait_ms_max: int = 60_000  # maximum duration of a long poll
    client_bytes_max: int = 134_217_728  # memory for unread responses and, up to half of it, incomplete requests
    http_connections_max: int = 10_000  # maximum open connections; further ones may only request /livez
    http_head_ms: int = 10_000  # time limit for request line and headers
    http_body_ms: int = 30_000  # time limit for the body, plus one second per 10 kB
    idempotency_key_ms: int = 86_400_000  # how long the response of an Idempotency-Key is stored
    idempotency_lease_ms: int = 2_000  # after a broker dies, repeats of its requests wait this long
    # transactions
    transactions_enabled: bool = True  # off: requests with a transaction are refused; those that are open still end
    default_timeout_ms: int = 60_000  # default timeout of a transaction
    max_transaction_timeout_ms: int = 900_000  # maximum timeout of a transaction
    max_active_transactions_per_coordinator: int = 0  # maximum open transactions per coordinator; 0: no limit
    ended_status_retention_ms: int = 3_600_000  # how long ended transactions are stored; 0: disabled, -1: no limit
    ended_status_max_records: int = 100_000  # maximum of them per coordinator; 0: disabled, -1: no limit
    transactional_id_expiration_ms: int = 604_800_000  # an unused transactional id expires after this
    end_overdue_ms: int = 1_000  # after this, any broker completes a decided transaction
    sweep_interval_ms: int = 500  # minimum interval between checks for overdue work
    tombstone_ms: int = 600_000  # how long a partition rejects late appends of an ended transaction
    transaction_log_batched_write_enabled: bool = True  # operations of one flush share a log entry (PIP-160)
    transaction_log_batched_write_max_records: int = 64  # maximum operations per coordinator call
    transaction_log_batched_write_max_size: int = 4_194_304  # maximum size of a coordinator call
    transaction_log_batched_write_max_delay_ms: int = 1  # maximum delay of an operation without a waiting caller
    transaction_pending_ack_batched_write_enabled: bool = True  # acks of several transactions share a write of a cursor
    transaction_pending_ack_batched_write_max_records: int = 16  # maximum acknowledgements per call
    transaction_pending_ack_batched_write_max_size: int = 4_194_304  # maximum size of a call
    one_call_transactions: bool = True  # on one Redis: decide, end and complete in one call; off: as on a cluster
    txn_buffer: str = "marker"  # of topics without a setting of their own: marker, or sidecar
    transaction_buffer_snapshot_max_transaction_count: int = 1_000  # ends until the next snapshot; 0: no snapshots
    transaction_buffer_snapshot_min_time_ms: int = 5_000  # time until the next snapshot after a transactional write
    aborted_payload_retention_ms: int = 10_000  # then payload of an aborted transaction is deleted; -1: by retention
    # delayed delivery (PIP-195)
    delayed_delivery_enabled: bool = True  # off: records with a delay are delivered immediately
    delayed_delivery_tick_time_ms: int = 2  # due records are collected for this time; they are late by this at most
    delayed_delivery_max_delay_ms: int = 0  # maximum delay; 0: no limit
    delayed_delivery_min_index_count_per_bucket: int = 50_000  # a bucket with this many entries is sealed
    delayed_delivery_ledger_step_per_bucket: int = 0  # a bucket that spans this many ledgers is sealed; 0: disabled
    delayed_delivery_max_time_step_per_segment_s: int = 300  # maximum time span of a segment of a sealed bucket
    delayed_delivery_min_indexes_per_segment: int = 500  # minimum entries of a segment, whatever its time span
    delayed_delivery_max_indexes_per_segment: int = 5_000  # maximum entries of a segment; -1: no limit
    delayed_delivery_max_num_buckets: int = -1  # above this number, sealed buckets are merged; -1: no limit
    delayed_delivery_load_ahead_ms: int = 5_000  # a segment is loaded this long before its first entry is due
    delayed_delivery_fire_chunk: int = 250  # maximum entries that one call delivers
    delayed_delivery_fire_per_s_max: int = 200_000  # maximum entries per second and partition, also after an outage
    delayed_delivery_block_after_ms: int = 0  # records due later than this are stored in compressed blocks; 0: disabled
    # subscriptions
    ack_timeout_ms: int = 30_000  # a delivered message that is not acknowledged within this time is redelivered
    consumer_session_ms: int = 30_000  # an exclusive consumer loses the subscription after this time without a request
    max_unacked_per_consumer: int = 0  # unacknowledged messages of a consumer on a partition; 0: no limit
    key_shared_waiting_max: int = 4_000  # records of a partition that wait for other consumers of their keys
    max_unacked_per_subscription: int = 0  # unacknowledged messages of a subscription on a partition; 0: no limit
    # Kafka clients
    kafka_connections_max: int = 10_000  # maximum open connections; further ones are closed
    kafka_request_bytes_max: int = 104_857_600  # maximum size of a request (Kafka: socket.request.max.bytes)
    kafka_inflight_bytes_max: int = 268_435_456  # memory for requests in flight; above it no more requests are read
    kafka_fetch_bytes_max: int = 57_671_680  # maximum size of a Fetch response (Kafka: fetch.max.bytes)
    kafka_frame_ms: int = 30_000  # a request must arrive completely within this time
    kafka_idle_ms: int = 600_000  # an idle connection is closed after this (Kafka: connections.max.idle.ms)
    tail_cache_bytes: int = 67_108_864  # memory for the newest batches; saves Redis reads at the tail
    # security
    auth_required: bool = False  # on: all listeners require authentication, and ACLs apply
    allow_everyone_if_no_acl: bool = False  # open resources without ACLs (Kafka: allow.everyone.if.no.acl.found)
    super_users: str = ""  # principals that bypass ACLs, such as User:ada;User:ops (Kafka: super.users)
    jwt_jwks: str = ""  # file or https URL of the JWK set of the token issuer; requires the jwt extra
    jwt_issuer: str = ""  # required issuer (iss); required with jwt_jwks
    jwt_audience: str = ""  # required audience (aud); required with jwt_jwks: excludes tokens for other services
    jwt_principal_claim: str = "sub"  # the claim with the principal's name
    bootstrap_token_file: str = ""  # file with a token of 32 or more characters for User:admin, a super user
    tls_certificate: str = ""  # file with the PEM chain of all listeners, reloaded when it changes; empty: no TLS
    tls_key: str = ""  # file with its unencrypted PEM key
    tls_kafka_listeners: str = ""  # Kafka listeners with TLS, if there are several, such as external; empty: all
    tls_client_ca: str = ""  # file with the authorities of client certificates; empty: they are not requested
    tls_principal: str = "cn"  # principal of a client certificate: cn (common name) or dn (whole subject, as in Kafka)
    # quotas: defaults per principal on each broker; 0: no limit; `redis-ledger quotas` overrides them
    quota_bytes_in_per_s: int = 0  # bytes of produce requests (Kafka: producer_byte_rate)
    quota_bytes_out_per_s: int = 0  # bytes of records read (Kafka: consumer_byte_rate)
    quota_requests_per_s: int = 0  # requests of any kind except health and metrics
    quota_open_transactions: int = 0  # open transactions
    # consumer groups
    group_initial_rebalance_delay_ms: int = 100  # an empty group waits this long for more members (Kafka: 3 s)
    group_session_timeout_ms_min: int = 6_000  # minimum session timeout of a member
    group_session_timeout_ms_max: int = 1_800_000  # maximum session timeout of a member
    group_members_max: int = 3_000  # maximum members of a group
    group_bytes_max: int = 134_217_728  # memory for the members of all groups; further members are rejected
    group_heartbeat_ms: int = 5_000  # heartbeat interval of the consumer protocol (KIP-848)
    group_session_ms: int = 45_000  # session timeout of the consumer protocol (KIP-848)
    offsets_retention_ms: int = 604_800_000  # offsets of an empty group expire this long after its last commit
    offset_metadata_bytes_max: int = 4_096  # maximum size of the metadata of an offset
    # offloaded records
    offload_home: str = ""  # folder or URI of offloaded files: /var/lib/x, s3://bucket/prefix; empty: no offload
    offload_cache_bytes: int = 67_108_864  # memory for offloaded records that are read
    # loss of writes in Redis
    state_dir: str = ""  # folder for the offsets that this broker has answered, compared at its start; empty: none
    # metrics and traces
    metrics_topics_max: int = 100  # topics with their own series in /metrics; the others share topic="other"
    metrics_partitions_max: int = 1_000  # partitions with their own series
    metrics_cursors_max: int = 1_000  # cursors (groups and subscriptions per partition) with lag metrics
    otel_enabled: bool = False  # on: traces are exported as set by OTEL_* variables; requires the otel extra
    # clocks
    clock_skew_ms_max: int = 10_000  # above this difference from Redis's clock a broker is not ready; 0: not compared
    # tests
    test_hooks: bool = False  # never in production: requests can crash the broker and move its clock
    # the connection to Redis
    redis_timeout_ms: int = 10_000  # time limit of a call to Redis; shorter than clients wait for a response
    redis_retry_ms: int = 5_000  # how long an idempotent call is retried before it fails
    # durability replicas
    min_insync_replicas: int = 1  # copies of a write, the primary's included; 2 or more (Kafka: min.insync.replicas)
    replicas_timeout_ms: int = 5_000  # time limit of their confirmation
