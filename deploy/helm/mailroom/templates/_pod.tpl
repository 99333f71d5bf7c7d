{{/* The pod of a component: root, component (its row of files/components.yaml), values (its own over the defaults),
     config, secrets. */}}
{{- define "mailroom.podTemplate" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $values := .values -}}
{{- $selector := dict "root" $root "name" $component.name -}}
metadata:
  labels:
    {{- include "mailroom.selectorLabels" $selector | nindent 4 }}
    {{- with merge (dict) $values.podLabels $root.Values.global.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ .config | toJson | sha256sum }}
    {{- with merge (dict) $values.podAnnotations $root.Values.global.commonAnnotations }}
    {{- tpl (toYaml .) $root | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "mailroom.serviceAccountName" . }}
  automountServiceAccountToken: {{ $values.serviceAccount.automount }}
  {{- with include "mailroom.podPlacement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  {{- with $values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ $component.name }}
      {{- include "mailroom.image" (dict "root" $root "service" $component.service "image" $values.image) | nindent 6 }}
      command: {{ toJson $component.command }}
      {{- include "mailroom.environment" . | trim | nindent 6 }}
      ports:
        - {name: http, containerPort: {{ $component.port }}}
        - {name: health, containerPort: {{ $root.Values.healthPort }}}
      {{- include "mailroom.probes" . | nindent 6 }}
      {{- with $values.preStopSeconds }}
      lifecycle:
        preStop:
          sleep: {seconds: {{ . }}}
      {{- end }}
      resources:
        {{- include "mailroom.resources" . | nindent 8 }}
      securityContext:
        {{- toYaml $values.containerSecurityContext | nindent 8 }}
      volumeMounts:
        - {name: temporary, mountPath: /tmp}
        {{- if .secrets }}
        - {name: secrets, mountPath: /etc/mailroom/secrets, readOnly: true}
        {{- end }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with $values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    - name: temporary
      emptyDir: {sizeLimit: {{ $values.temporaryStorage }}}
    {{- if .secrets }}
    {{- include "mailroom.secretVolume" . | nindent 4 }}
    {{- end }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "mailroom.environment" -}}
{{- with include "mailroom.environmentEntries" . | trim }}
env:
  {{- . | nindent 2 }}
{{- end }}
envFrom:
  - configMapRef: {name: {{ include "mailroom.objectName" (dict "root" .root "name" .component.name) }}}
  {{- with .values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "mailroom.environmentEntries" -}}
{{- if .component.isStaticMember }}
# The name outlives the pod, so a restarted consumer takes its partitions again at once.
- name: MAILROOM_INSTANCE_ID
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
{{- end }}
{{ include "mailroom.secretEnvironment" . | trim }}
{{- with .values.extraEnv }}
{{ tpl (toYaml .) $.root }}
{{- end }}
{{- end }}

{{- define "mailroom.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: health}
  {{- toYaml .values.probes.startup | nindent 2 }}
livenessProbe:
  httpGet: {path: /livez, port: health}
  {{- toYaml .values.probes.liveness | nindent 2 }}
readinessProbe:
  httpGet: {path: /readyz, port: health}
  {{- toYaml .values.probes.readiness | nindent 2 }}
{{- end }}

{{- define "mailroom.podPlacement" -}}
{{- $selector := dict "root" .root "name" .component.name -}}
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml . | nindent 4 | trim }}
    labelSelector:
      matchLabels:
        {{- include "mailroom.selectorLabels" $selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- with .values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "mailroom.serviceAccountName" -}}
{{- if .values.serviceAccount.create -}}
{{- default (include "mailroom.objectName" (dict "root" .root "name" .component.name)) .values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{/* Requests and limits; an empty limit of memory follows from the settings. values, config */}}
{{- define "mailroom.resources" -}}
{{- $resources := deepCopy .values.resources -}}
{{- if and (hasKey (default (dict) $resources.limits) "memory") (not $resources.limits.memory) -}}
{{- $_ := set $resources.limits "memory" (include "mailroom.memoryLimit" .) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end }}

{{/* What a worker takes itself, and its parser and OCR processes at most. The defaults are those of the settings,
     which a test compares. config */}}
{{- define "mailroom.memoryLimit" -}}
{{- $parsers := mul (default 2 .config.MAILROOM_PARSER_PROCESSES | int) (default 1073741824 .config.MAILROOM_PARSER_MEMORY_BYTES | int64) -}}
{{- $ocr := mul (default 0 .config.MAILROOM_OCR_PROCESSES | int) (default 2147483648 .config.MAILROOM_OCR_MEMORY_BYTES | int64) -}}
{{- printf "%dMi" (add 1024 (div (add $parsers $ocr) 1048576)) -}}
{{- end }}
