{{/* What changes the number of copies of a component: the arguments of mailroom.podTemplate. */}}
{{- define "mailroom.scaler" -}}
{{- $names := dict "root" .root "name" .component.name -}}
{{- $autoscaling := .values.autoscaling -}}
{{- if eq $autoscaling.type "hpa" }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "mailroom.metadata" $names | nindent 2 }}
spec:
  {{- include "mailroom.scaleTarget" . | nindent 2 }}
  minReplicas: {{ $autoscaling.minReplicas }}
  maxReplicas: {{ $autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: {{ $autoscaling.targetCPU }}}
  {{- include "mailroom.scalingBehavior" $autoscaling | nindent 2 }}
{{- else if eq $autoscaling.type "keda" }}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "mailroom.metadata" $names | nindent 2 }}
spec:
  {{- include "mailroom.scaleTarget" . | nindent 2 }}
  minReplicaCount: {{ $autoscaling.minReplicas }}
  maxReplicaCount: {{ $autoscaling.maxReplicas }}
  # Brokers that are replaced look like an error to the scaler: it must not take the workers away.
  fallback: {failureThreshold: 3, replicas: {{ $autoscaling.minReplicas }}}
  advanced:
    horizontalPodAutoscalerConfig:
      {{- include "mailroom.scalingBehavior" $autoscaling | nindent 6 }}
  triggers:
    {{- include "mailroom.scalingTrigger" . | trim | nindent 4 }}
{{- if and (not (include "mailroom.scalesByMetric" .)) (ne .root.Values.kafka.securityProtocol "PLAINTEXT") }}
{{- include "mailroom.triggerAuthentication" . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "mailroom.scaleTarget" -}}
scaleTargetRef:
  apiVersion: apps/v1
  kind: {{ ternary "StatefulSet" "Deployment" .component.isStaticMember }}
  name: {{ include "mailroom.objectName" (dict "root" .root "name" .component.name) }}
{{- end }}

{{- define "mailroom.scalingBehavior" -}}
behavior:
  scaleDown:
    stabilizationWindowSeconds: {{ .stabilizationWindowSeconds }}
    policies: [{type: Pods, value: 1, periodSeconds: 60}]
{{- end }}

{{- define "mailroom.scalesByMetric" -}}
{{- if and .values.autoscaling.prometheusAddress .component.scaling.query }}yes{{ end -}}
{{- end }}

{{- define "mailroom.scalingTrigger" -}}
{{- $prefix := .root.Values.kafka.topicPrefix -}}
{{- if include "mailroom.scalesByMetric" . }}
- type: prometheus
  metadata:
    serverAddress: {{ .values.autoscaling.prometheusAddress | quote }}
    query: {{ printf .component.scaling.query .root.Release.Namespace | quote }}
    threshold: {{ .values.autoscaling.lagThreshold | quote }}
{{- else }}
- type: kafka
  metadata:
    bootstrapServers: {{ .root.Values.kafka.bootstrapServers | quote }}
    consumerGroup: {{ print $prefix .component.scaling.group | quote }}
    topic: {{ print $prefix .component.scaling.topic | quote }}
    lagThreshold: {{ .values.autoscaling.lagThreshold | quote }}
    offsetResetPolicy: earliest
  {{- if ne .root.Values.kafka.securityProtocol "PLAINTEXT" }}
  authenticationRef: {name: {{ include "mailroom.objectName" (dict "root" .root "name" .component.name) }}}
  {{- end }}
{{- end }}
{{- end }}

{{/* KEDA speaks to Kafka as the component itself does. */}}
{{- define "mailroom.triggerAuthentication" -}}
{{- $kafka := .root.Values.kafka -}}
{{- $text := dict "component" .component }}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata:
  {{- include "mailroom.metadata" (dict "root" .root "name" .component.name) | nindent 2 }}
spec:
  configMapTargetRef:
    {{- if hasPrefix "SASL_" $kafka.securityProtocol }}
    - parameter: username
      name: {{ include "mailroom.objectName" (dict "root" .root "name" .component.name) }}
      key: MAILROOM_KAFKA_USERNAME
    {{- end }}
    - parameter: sasl
      name: {{ include "mailroom.objectName" (dict "root" .root "name" .component.name) }}-keda
      key: sasl
    - parameter: tls
      name: {{ include "mailroom.objectName" (dict "root" .root "name" .component.name) }}-keda
      key: tls
  secretTargetRef:
    {{- if hasPrefix "SASL_" $kafka.securityProtocol }}
    - parameter: password
      name: {{ include "mailroom.text" (merge (dict "value" $kafka.sasl.existingSecret) $text) }}
      key: {{ include "mailroom.text" (merge (dict "value" $kafka.sasl.passwordKey) $text) }}
    {{- end }}
    {{- if hasSuffix "SSL" $kafka.securityProtocol }}
    {{- with $kafka.tls.existingSecret }}
    - {parameter: ca, name: {{ . }}, key: {{ $kafka.tls.caKey }}}
    {{- end }}
    {{- with $kafka.tls.clientSecret }}
    - {parameter: cert, name: {{ include "mailroom.text" (merge (dict "value" .) $text) }}, key: {{ $kafka.tls.certKey }}}
    - {parameter: key, name: {{ include "mailroom.text" (merge (dict "value" .) $text) }}, key: {{ $kafka.tls.keyKey }}}
    {{- end }}
    {{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "mailroom.metadata" (dict "root" .root "name" .component.name "object" (print (include "mailroom.objectName" (dict "root" .root "name" .component.name)) "-keda")) | nindent 2 }}
data:
  sasl: {{ if hasPrefix "SASL_" $kafka.securityProtocol }}{{ get (dict "PLAIN" "plaintext" "SCRAM-SHA-256" "scram_sha256" "SCRAM-SHA-512" "scram_sha512") $kafka.sasl.mechanism }}{{ else }}none{{ end }}
  tls: {{ ternary "enable" "disable" (hasSuffix "SSL" $kafka.securityProtocol) }}
{{- end }}
