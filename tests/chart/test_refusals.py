"""Values that Helm refuses, and its messages."""

from __future__ import annotations

import pytest

from tests.support import chart

OUTSIDE = "redis: {existingSecret: r}\n"
# Values that the schema refuses, and what it names.
MISSHAPEN = [
    ("replicas: two", "/replicas"),
    ("replicas: -1", "/replicas"),
    ("replica: 2", "replica"),
    ("durability: safe", "/durability"),
    ("settings: {retention_mss: 5}", "retention_mss"),
    ("settings: {retention_ms: week}", "/settings/retention_ms"),
    ("settings: {auth_required: false}", "auth_required"),
    ("settings: {tls_key: /key}", "tls_key"),
    ("image: {tag: 'a b'}", "/image/tag"),
    ("image: {digest: sha256:12}", "/image/digest"),
    ("image: {name: x}", "name"),
    ("auth: {enabled: 'yes'}", "/auth/enabled"),
    ("auth: {superUsers: [ada]}", "/auth/superUsers/0"),
    ("auth: {token: secret}", "token"),
    ("tls: {principal: ou}", "/tls/principal"),
    ("tls: {certManager: {duration: 90 days}}", "/tls/certManager/duration"),
    ("redis: {url: 'http://x'}", "/redis/url"),
    ("redis: {bundled: {maxmemory: half}}", "/redis/bundled/maxmemory"),
    ("redis: {bundled: {persistence: {size: big}}}", "/redis/bundled/persistence/size"),
    ("offloadHome: {uri: /var/lib/x}", "/offloadHome/uri"),
    ("service: {rest: {type: ExternalName}}", "/service/rest/type"),
    ("service: {kafka: {port: 99999}}", "/service/kafka/port"),
    ("externalAccess: {type: Ingress}", "/externalAccess/type"),
    ("externalAccess: {advertised: example.com}", "/externalAccess/advertised"),
    ("ingress: {hosts: [ledger.example.com]}", "/ingress/hosts/0"),
    ("extraArgs: [serve]", "/extraArgs/0"),
    ("extraArgs: ['--redis=redis://:pw@x']", "/extraArgs/0"),
    ("extraArgs: [--allow-anonymous]", "/extraArgs/0"),
    ("extraArgs: [--kafka-advertised=x:9092]", "/extraArgs/0"),
    ("extraArgs: [--log-level=debug]", "/extraArgs/0"),
    ("extraArgs: [--brokers=2]", "/extraArgs/0"),
    ("settings: {tls_kafka_listeners: external}", "tls_kafka_listeners"),
    ("podLabels: {a: 'no blanks'}", "/podLabels/a"),
    ("resources: {request: {}}", "request"),
    ("probes: {liveness: {exec: {}}}", "exec"),
    ("preStopSeconds: -1", "/preStopSeconds"),
    ("terminationGracePeriodSeconds: 20", "/terminationGracePeriodSeconds"),
    ("podDisruptionBudget: {maxUnavailable: half}", "/podDisruptionBudget/maxUnavailable"),
    ("autoscaling: {maxReplicas: 0}", "/autoscaling/maxReplicas"),
    ("metrics: {serviceMonitor: {interval: often}}", "/metrics/serviceMonitor/interval"),
]
# Values that are fine alone, and the beginning of what the chart says.
CONTRADICTORY = [
    ("auth: {enabled: false}", "auth.enabled=false allows all clients to do everything: set"),
    ("auth: {allowAnonymous: true}", "auth.allowAnonymous=true and auth.enabled=true contradict each other"),
    ("auth: {bootstrapToken: {enabled: false}}", "This release would have no administrator"),
    ("redis: {url: 'redis://x', existingSecret: r}", "redis.url and redis.existingSecret are both set"),
    ("redis: {url: 'redis://:pw@x'}", "redis.url would expose its password to users who can read pods"),
    ("redis: {bundled: {enabled: false}}", "No Redis is configured"),
    ("durability: replicas", "durability=replicas requires a Redis with replicas"),
    (
        "tls: {enabled: true, existingSecret: s, certManager: {enabled: true}}",
        "tls.existingSecret and tls.certManager.enabled both provide a certificate",
    ),
    ("tls: {enabled: true}", "tls.enabled requires a certificate"),
    ("tls: {enabled: true, certManager: {enabled: true}}", "tls.certManager.enabled requires tls.certManager."),
    ("tls: {existingSecret: s}", "A certificate is configured but TLS is off"),
    ("externalAccess: {enabled: true, type: LoadBalancer}", "externalAccess.type=LoadBalancer requires"),
    ("externalAccess: {enabled: true, advertised: 'a.example:9092'}", "externalAccess.advertised must contain {index}"),
    ("externalAccess: {enabled: true, nodePortBase: 30095}", "Each broker advertises nodePortBase plus its number"),
    ("{replicas: 11, externalAccess: {enabled: true}}", "Each broker advertises nodePortBase plus its number"),
    (
        "{externalAccess: {enabled: true}, service: {kafka: {type: LoadBalancer}}}",
        "service.kafka is the listener for clients in the cluster",
    ),
    (
        "tls: {enabled: true, existingSecret: s, kafkaInternal: false}",
        "tls.kafkaInternal=false restricts TLS to the external listener",
    ),
    (
        "offloadHome: {uri: 's3://b', existingClaim: c}",
        "offloadHome.uri and offloadHome.existingClaim are both set",
    ),
    ("preStopSeconds: 30", "terminationGracePeriodSeconds=60 would kill draining brokers"),
    ("autoscaling: {enabled: true, minReplicas: 7}", "autoscaling.minReplicas is above autoscaling.maxReplicas"),
    (
        OUTSIDE + "networkPolicy: {enabled: true, egress: {enabled: true}}",
        "networkPolicy.egress.enabled would disconnect brokers from Redis",
    ),
    ("metrics: {serviceMonitor: {enabled: true}}", "metrics.serviceMonitor with auth.enabled requires"),
]


@pytest.mark.parametrize(("values", "names"), MISSHAPEN)
def test_invalid_value_is_rejected_with_its_path(values, names):
    output = chart.refused(values)
    assert "values don't meet the specifications of the schema" in output
    assert names in output


@pytest.mark.parametrize(("values", "says"), CONTRADICTORY)
def test_contradicting_values_are_rejected_in_one_sentence(values, says):
    output = chart.refused(values)
    assert says in output
    sentence, _, rest = output[output.index(says) :].partition("\n")
    assert sentence.endswith(".")
    assert rest.strip() in ("", "Use --debug flag to render out invalid YAML")
