{{/* The broker's container, part by part. */}}

{{/* Variables about the pod itself come first: what is below them and the arguments may refer to them. */}}
{{- define "redis-ledger.env" -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
{{- if .Values.externalAccess.enabled }}
- name: POD_INDEX
  valueFrom: { fieldRef: { fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']" } }
- name: NODE_IP
  valueFrom: { fieldRef: { fieldPath: status.hostIP } }
{{- end }}
- name: REDIS_LEDGER_REDIS_URL
{{- if .Values.redis.url }}
  value: {{ .Values.redis.url | quote }}
{{- else }}
  valueFrom:
    secretKeyRef:
      {{- if include "redis-ledger.bundled" . }}
      name: {{ include "redis-ledger.redis" . }}
      key: url
      {{- else }}
      name: {{ .Values.redis.existingSecret }}
      key: {{ .Values.redis.existingSecretKey }}
      {{- end }}
{{- end }}
{{- range $name, $value := include "redis-ledger.settings" . | fromYaml }}
- name: REDIS_LEDGER_{{ upper $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Setting → value as text: what the chart decides, and `settings`, which the schema keeps apart from it. */}}
{{- define "redis-ledger.settings" -}}
{{- $all := dict -}}
{{- range $name, $value := .Values.settings }}
{{- /* Numbers of a values file are floats here, and 604800000 would become 6.048e+08. */ -}}
{{- $_ := set $all $name (ternary (printf "%.0f" (float64 (ternary $value 0 (kindIs "float64" $value)))) (toString $value) (kindIs "float64" $value)) -}}
{{- end }}
{{- /* Said either way: the image asks for authentication of its own accord. */ -}}
{{- $_ := set $all "auth_required" (toString .Values.auth.enabled) -}}
{{- if .Values.auth.enabled }}
{{- if .Values.auth.allowEveryoneIfNoAcl }}{{ $_ := set $all "allow_everyone_if_no_acl" "true" }}{{ end -}}
{{- with .Values.auth.superUsers }}{{ $_ := set $all "super_users" (join ";" .) }}{{ end -}}
{{- if .Values.auth.bootstrapToken.enabled }}
{{- $_ := set $all "bootstrap_token_file" "/etc/redis-ledger/bootstrap/token" -}}
{{- end }}
{{- end }}
{{- if .Values.tls.enabled }}
{{- $_ := set $all "tls_certificate" "/etc/redis-ledger/tls/tls.crt" -}}
{{- $_ := set $all "tls_key" "/etc/redis-ledger/tls/tls.key" -}}
{{- if not .Values.tls.kafkaInternal }}{{ $_ := set $all "tls_kafka_listeners" "external" }}{{ end -}}
{{- if .Values.tls.clientCa.existingSecret }}
{{- $_ := set $all "tls_client_ca" "/etc/redis-ledger/client-ca/ca.crt" -}}
{{- $_ := set $all "tls_principal" .Values.tls.principal -}}
{{- end }}
{{- end }}
{{- if .Values.offloadHome.uri }}{{ $_ := set $all "offload_home" .Values.offloadHome.uri }}{{ end -}}
{{- if .Values.offloadHome.existingClaim }}{{ $_ := set $all "offload_home" "/var/lib/redis-ledger/offload" }}{{ end -}}
{{- toYaml $all -}}
{{- end -}}

{{- define "redis-ledger.envFrom" -}}
{{- with .Values.offloadHome.envSecret }}
- secretRef: { name: {{ . }} }
{{- end }}
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "redis-ledger.args" -}}
{{- $pod := include "redis-ledger.pod" . -}}
- --http={{ .Values.listenHost }}:8080
- --http-advertised={{ $pod }}:8080
{{- if .Values.externalAccess.enabled }}
- --kafka=internal://{{ .Values.listenHost }}:9092,external://{{ .Values.listenHost }}:9094
- --kafka-advertised=internal://{{ $pod }}:9092,external://{{ include "redis-ledger.outside" . }}
{{- else }}
- --kafka={{ .Values.listenHost }}:9092
- --kafka-advertised={{ $pod }}:9092
{{- end }}
- --durability={{ .Values.durability }}
- --log-level={{ .Values.logLevel }}
{{- if .Values.auth.allowAnonymous }}
- --allow-anonymous
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A probe: (list $ path settings) */}}
{{- define "redis-ledger.probe" -}}
httpGet:
  path: {{ index . 1 }}
  port: rest
  scheme: {{ include "redis-ledger.scheme" (index . 0) | upper }}
{{ toYaml (index . 2) }}
{{- end -}}

{{/* Secrets are mounted as folders, never by subPath, so that a renewed certificate arrives. */}}
{{- define "redis-ledger.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if and .Values.auth.enabled .Values.auth.bootstrapToken.enabled }}
- { name: bootstrap, mountPath: /etc/redis-ledger/bootstrap, readOnly: true }
{{- end }}
{{- if .Values.tls.enabled }}
- { name: tls, mountPath: /etc/redis-ledger/tls, readOnly: true }
{{- if .Values.tls.clientCa.existingSecret }}
- { name: client-ca, mountPath: /etc/redis-ledger/client-ca, readOnly: true }
{{- end }}
{{- end }}
{{- if .Values.redis.tls.existingSecret }}
- { name: redis-tls, mountPath: /etc/redis-ledger/redis, readOnly: true }
{{- end }}
{{- if .Values.offloadHome.existingClaim }}
- { name: offload, mountPath: /var/lib/redis-ledger/offload }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "redis-ledger.volumes" -}}
- name: tmp
  emptyDir: {}
{{- if and .Values.auth.enabled .Values.auth.bootstrapToken.enabled }}
- name: bootstrap
  secret:
    secretName: {{ include "redis-ledger.bootstrapSecret" . }}
    defaultMode: 0440
    items:
      - { key: {{ .Values.auth.bootstrapToken.existingSecret | empty | ternary "token" .Values.auth.bootstrapToken.key }}, path: token }
{{- end }}
{{- if .Values.tls.enabled }}
- name: tls
  secret:
    secretName: {{ include "redis-ledger.tlsSecret" . }}
    defaultMode: 0440
{{- with .Values.tls.clientCa.existingSecret }}
- name: client-ca
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    items:
      - { key: {{ $.Values.tls.clientCa.key }}, path: ca.crt }
{{- end }}
{{- end }}
{{- with .Values.redis.tls.existingSecret }}
- name: redis-tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with .Values.offloadHome.existingClaim }}
- name: offload
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
