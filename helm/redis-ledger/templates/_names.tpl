{{/* Names, labels and addresses.  Pods get what is short enough for them: a name plus "-10", at most 63 characters. */}}

{{- define "redis-ledger.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "redis-ledger.fullname" -}}
{{- $name := include "redis-ledger.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "redis-ledger.headless" -}}{{ include "redis-ledger.fullname" . }}-brokers{{- end -}}
{{- define "redis-ledger.redis" -}}{{ include "redis-ledger.fullname" . }}-redis{{- end -}}

{{/* Labels that select the pods of a component: (list $ "broker") */}}
{{- define "redis-ledger.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "redis-ledger.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of an object: (list $ "broker") */}}
{{- define "redis-ledger.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "redis-ledger.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: redis-ledger
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* repository:tag or repository@digest: (dict "image" .Values.image "tag" .Chart.AppVersion) */}}
{{- define "redis-ledger.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .tag }}
{{- end -}}
{{- end -}}

{{- define "redis-ledger.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "redis-ledger.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{/* The most brokers there may be. */}}
{{- define "redis-ledger.brokers" -}}
{{- if .Values.autoscaling.enabled -}}{{ .Values.autoscaling.maxReplicas }}{{- else -}}{{ .Values.replicas }}{{- end -}}
{{- end -}}

{{/* "bundled" or "": whether this release brings its own Redis. */}}
{{- define "redis-ledger.bundled" -}}
{{- if and .Values.redis.bundled.enabled (not .Values.redis.url) (not .Values.redis.existingSecret) -}}bundled{{- end -}}
{{- end -}}

{{/* A value of a Secret that exists in the cluster, else a new one: (list $ secret key).  helm template makes a new one. */}}
{{- define "redis-ledger.kept" -}}
{{- $root := index . 0 -}}
{{- $found := lookup "v1" "Secret" $root.Release.Namespace (index . 1) -}}
{{- $kept := "" -}}
{{- with $found }}{{ $kept = index (.data | default dict) (index $ 2) | default "" }}{{ end -}}
{{- if $kept -}}{{ $kept | b64dec }}{{- else -}}{{ randAlphaNum 48 }}{{- end -}}
{{- end -}}

{{- define "redis-ledger.bootstrapSecret" -}}
{{ .Values.auth.bootstrapToken.existingSecret | default (printf "%s-bootstrap" (include "redis-ledger.fullname" .)) }}
{{- end -}}

{{- define "redis-ledger.tlsSecret" -}}
{{ .Values.tls.existingSecret | default (printf "%s-tls" (include "redis-ledger.fullname" .)) }}
{{- end -}}

{{- define "redis-ledger.scheme" -}}{{ ternary "https" "http" .Values.tls.enabled }}{{- end -}}

{{/* The name of a broker's pod, with a variable that Kubernetes fills in. */}}
{{- define "redis-ledger.pod" -}}
$(POD_NAME).{{ include "redis-ledger.headless" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{/* HOST:PORT that a broker tells Kafka clients outside. */}}
{{- define "redis-ledger.outside" -}}
{{- $own := printf "{node}:%d{index}" (div (int .Values.externalAccess.nodePortBase) 10) -}}
{{- .Values.externalAccess.advertised | default $own | replace "{index}" "$(POD_INDEX)" | replace "{node}" "$(NODE_IP)" -}}
{{- end -}}
