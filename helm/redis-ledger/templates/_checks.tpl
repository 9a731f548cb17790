{{/* Checks that a schema cannot express: invalid combinations of values.  Fails with the first one. */}}
{{- define "redis-ledger.check" -}}
{{- $v := .Values -}}
{{- $brokers := int (include "redis-ledger.brokers" .) -}}

{{- if and (not $v.auth.enabled) (not $v.auth.allowAnonymous) -}}
{{- fail "auth.enabled=false allows all clients to do everything: set auth.allowAnonymous=true to confirm, or keep auth.enabled=true." -}}
{{- end -}}
{{- if and $v.auth.enabled $v.auth.allowAnonymous -}}
{{- fail "auth.allowAnonymous=true and auth.enabled=true contradict each other: set one of them to false." -}}
{{- end -}}
{{- if and $v.auth.enabled (not $v.auth.bootstrapToken.enabled) (not $v.auth.superUsers) -}}
{{- fail "This release would have no administrator: set auth.bootstrapToken.enabled=true or auth.superUsers." -}}
{{- end -}}

{{- if and $v.redis.url $v.redis.existingSecret -}}
{{- fail "redis.url and redis.existingSecret are both set: set only one." -}}
{{- end -}}
{{- if contains "@" $v.redis.url -}}
{{- fail "redis.url would expose its password to users who can read pods: store the URL in a secret with the key url and set redis.existingSecret." -}}
{{- end -}}
{{- if not (or $v.redis.url $v.redis.existingSecret $v.redis.bundled.enabled) -}}
{{- fail "No Redis is configured: set redis.url or redis.existingSecret, or redis.bundled.enabled=true for a trial." -}}
{{- end -}}
{{- if and (eq $v.durability "replicas") (not $v.redis.url) (not $v.redis.existingSecret) -}}
{{- fail "durability=replicas requires a Redis with replicas, and the bundled one has none: set redis.url or redis.existingSecret." -}}
{{- end -}}
{{- if and .Release.IsUpgrade (include "redis-ledger.bundled" .) -}}
{{- $name := include "redis-ledger.fullname" . -}}
{{- if and (lookup "apps/v1" "StatefulSet" .Release.Namespace $name) (not (lookup "apps/v1" "StatefulSet" .Release.Namespace (include "redis-ledger.redis" .))) -}}
{{- fail "This release uses another Redis and would start over with an empty one: set redis.url or redis.existingSecret again, or use --reset-then-reuse-values." -}}
{{- end -}}
{{- end -}}

{{- if $v.tls.enabled -}}
{{- if and $v.tls.existingSecret $v.tls.certManager.enabled -}}
{{- fail "tls.existingSecret and tls.certManager.enabled both provide a certificate: choose one of them." -}}
{{- end -}}
{{- if not (or $v.tls.existingSecret $v.tls.certManager.enabled) -}}
{{- fail "tls.enabled requires a certificate: set tls.existingSecret or tls.certManager.enabled=true." -}}
{{- end -}}
{{- if and $v.tls.certManager.enabled (not $v.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled requires tls.certManager.issuerRef.name, the issuer of the certificate." -}}
{{- end -}}
{{- else if or $v.tls.existingSecret $v.tls.certManager.enabled $v.tls.clientCa.existingSecret -}}
{{- fail "A certificate is configured but TLS is off: set tls.enabled=true, or remove the certificate." -}}
{{- end -}}

{{- if $v.externalAccess.enabled -}}
{{- $advertised := $v.externalAccess.advertised -}}
{{- if ne $v.service.kafka.type "ClusterIP" -}}
{{- fail "service.kafka is the listener for clients in the cluster: keep service.kafka.type=ClusterIP and configure externalAccess.bootstrap for external clients." -}}
{{- end -}}
{{- if and (eq $v.externalAccess.type "LoadBalancer") (not $advertised) -}}
{{- fail "externalAccess.type=LoadBalancer requires externalAccess.advertised, such as broker-{index}.kafka.example.com:9092." -}}
{{- end -}}
{{- if and $advertised (not (contains "{index}" $advertised)) (gt $brokers 1) -}}
{{- fail "externalAccess.advertised must contain {index}: each broker needs a unique address." -}}
{{- end -}}
{{- if and (eq $v.externalAccess.type "NodePort") (not $advertised) (or (gt $brokers 10) (mod (int $v.externalAccess.nodePortBase) 10)) -}}
{{- fail "Each broker advertises nodePortBase plus its number: externalAccess.nodePortBase must be a multiple of 10, with at most 10 brokers; or set externalAccess.advertised." -}}
{{- end -}}
{{- end -}}

{{- if and (not $v.tls.kafkaInternal) (not (and $v.tls.enabled $v.externalAccess.enabled)) -}}
{{- fail "tls.kafkaInternal=false restricts TLS to the external listener, so it requires tls.enabled=true and externalAccess.enabled=true." -}}
{{- end -}}

{{- if and $v.offloadHome.uri $v.offloadHome.existingClaim -}}
{{- fail "offloadHome.uri and offloadHome.existingClaim are both set: set only one." -}}
{{- end -}}
{{- if lt (int $v.terminationGracePeriodSeconds) (add (int $v.preStopSeconds) 45) -}}
{{- fail (printf "terminationGracePeriodSeconds=%d would kill draining brokers: use at least preStopSeconds plus 45 s, %d or more." (int $v.terminationGracePeriodSeconds) (add (int $v.preStopSeconds) 45)) -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and $v.networkPolicy.enabled $v.networkPolicy.egress.enabled (not $v.networkPolicy.egress.rules) (not (include "redis-ledger.bundled" .)) -}}
{{- fail "networkPolicy.egress.enabled would disconnect brokers from Redis: allow it in networkPolicy.egress.rules." -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled $v.auth.enabled (not $v.metrics.serviceMonitor.tokenSecret.name) -}}
{{- fail "metrics.serviceMonitor with auth.enabled requires metrics.serviceMonitor.tokenSecret.name, a secret with the token of a principal with DESCRIBE on CLUSTER." -}}
{{- end -}}
{{- end -}}
