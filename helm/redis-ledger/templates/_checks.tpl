{{/* What a schema cannot say: values that are fine alone and make no sense together.  One sentence for the first found. */}}
{{- define "redis-ledger.check" -}}
{{- $v := .Values -}}
{{- $brokers := int (include "redis-ledger.brokers" .) -}}

{{- if and (not $v.auth.enabled) (not $v.auth.allowAnonymous) -}}
{{- fail "auth.enabled=false lets everybody who reaches a broker do everything: set auth.allowAnonymous=true if that is meant, or leave auth.enabled=true." -}}
{{- end -}}
{{- if and $v.auth.enabled $v.auth.allowAnonymous -}}
{{- fail "auth.allowAnonymous=true and auth.enabled=true contradict each other: set one of them to false." -}}
{{- end -}}
{{- if and $v.auth.enabled (not $v.auth.bootstrapToken.enabled) (not $v.auth.superUsers) -}}
{{- fail "Nobody could administrate this release: set auth.bootstrapToken.enabled=true, or name someone in auth.superUsers." -}}
{{- end -}}

{{- if and $v.redis.url $v.redis.existingSecret -}}
{{- fail "redis.url and redis.existingSecret both say where Redis is: give one of them." -}}
{{- end -}}
{{- if contains "@" $v.redis.url -}}
{{- fail "redis.url would show its password to all who may read pods: put the URL into a secret under the key url, and name that in redis.existingSecret." -}}
{{- end -}}
{{- if not (or $v.redis.url $v.redis.existingSecret $v.redis.bundled.enabled) -}}
{{- fail "Nothing says where Redis is: set redis.url or redis.existingSecret, or redis.bundled.enabled=true for a trial." -}}
{{- end -}}
{{- if and .Release.IsUpgrade (include "redis-ledger.bundled" .) -}}
{{- $name := include "redis-ledger.fullname" . -}}
{{- if and (lookup "apps/v1" "StatefulSet" .Release.Namespace $name) (not (lookup "apps/v1" "StatefulSet" .Release.Namespace (include "redis-ledger.redis" .))) -}}
{{- fail "This release has used another Redis so far, and would begin anew on an empty one: give redis.url or redis.existingSecret again, or use --reset-then-reuse-values." -}}
{{- end -}}
{{- end -}}

{{- if $v.tls.enabled -}}
{{- if and $v.tls.existingSecret $v.tls.certManager.enabled -}}
{{- fail "tls.existingSecret and tls.certManager.enabled both bring a certificate: choose one of them." -}}
{{- end -}}
{{- if not (or $v.tls.existingSecret $v.tls.certManager.enabled) -}}
{{- fail "tls.enabled needs a certificate: name your secret in tls.existingSecret, or set tls.certManager.enabled=true." -}}
{{- end -}}
{{- if and $v.tls.certManager.enabled (not $v.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled needs tls.certManager.issuerRef.name, the issuer that signs the certificate." -}}
{{- end -}}
{{- else if or $v.tls.existingSecret $v.tls.certManager.enabled $v.tls.clientCa.existingSecret -}}
{{- fail "A certificate is given and TLS is off: set tls.enabled=true, or leave the certificate out." -}}
{{- end -}}

{{- if $v.externalAccess.enabled -}}
{{- $told := $v.externalAccess.advertised -}}
{{- if ne $v.service.kafka.type "ClusterIP" -}}
{{- fail "service.kafka leads to the listener for clients in the cluster: leave service.kafka.type=ClusterIP, and say in externalAccess.bootstrap how those outside begin." -}}
{{- end -}}
{{- if and (eq $v.externalAccess.type "LoadBalancer") (not $told) -}}
{{- fail "externalAccess.type=LoadBalancer needs externalAccess.advertised, such as broker-{index}.kafka.example.com:9092." -}}
{{- end -}}
{{- if and $told (not (contains "{index}" $told)) (gt $brokers 1) -}}
{{- fail "externalAccess.advertised must contain {index}: each broker needs an address of its own." -}}
{{- end -}}
{{- if and (eq $v.externalAccess.type "NodePort") (not $told) (or (gt $brokers 10) (mod (int $v.externalAccess.nodePortBase) 10)) -}}
{{- fail "The node ports that brokers tell end in their number: externalAccess.nodePortBase has to be a multiple of 10, and 10 brokers are the most; or set externalAccess.advertised." -}}
{{- end -}}
{{- end -}}

{{- if and (not $v.tls.kafkaInternal) (not (and $v.tls.enabled $v.externalAccess.enabled)) -}}
{{- fail "tls.kafkaInternal=false leaves TLS to the external listener, which needs tls.enabled=true and externalAccess.enabled=true." -}}
{{- end -}}

{{- if and $v.offloadHome.uri $v.offloadHome.existingClaim -}}
{{- fail "offloadHome.uri and offloadHome.existingClaim both say where history is: give one of them." -}}
{{- end -}}
{{- if lt (int $v.terminationGracePeriodSeconds) (add (int $v.preStopSeconds) 45) -}}
{{- fail (printf "terminationGracePeriodSeconds=%d would kill a broker that drains: give preStopSeconds and 45 s more, %d or above." (int $v.terminationGracePeriodSeconds) (add (int $v.preStopSeconds) 45)) -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and $v.networkPolicy.enabled $v.networkPolicy.egress.enabled (not $v.networkPolicy.egress.rules) (not (include "redis-ledger.bundled" .)) -}}
{{- fail "networkPolicy.egress.enabled would cut brokers off from Redis: let networkPolicy.egress.rules lead to it." -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled $v.auth.enabled (not $v.metrics.serviceMonitor.tokenSecret.name) -}}
{{- fail "metrics.serviceMonitor with auth.enabled needs metrics.serviceMonitor.tokenSecret.name, a secret with a token whose bearer may DESCRIBE the CLUSTER." -}}
{{- end -}}
{{- end -}}
