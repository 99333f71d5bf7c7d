{{/* Names, labels and images. */}}

{{- define "mailroom.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 30 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 30 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* The name of an object of one component: root, name. A StatefulSet's pods add a suffix within 63 letters. */}}
{{- define "mailroom.objectName" -}}
{{- printf "%s-%s" (include "mailroom.fullname" .root) .name -}}
{{- end }}

{{/* Selectors never change: they are immutable. */}}
{{- define "mailroom.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .name | quote }}
{{- end }}

{{- define "mailroom.labels" -}}
{{ include "mailroom.selectorLabels" . }}
app.kubernetes.io/part-of: mailroom
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{- with .root.Values.global.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* metadata of an object: root, name (component), object (name where it differs), annotations. */}}
{{- define "mailroom.metadata" -}}
name: {{ default (include "mailroom.objectName" .) .object }}
namespace: {{ default .root.Release.Namespace .namespace }}
labels:
  {{- include "mailroom.labels" . | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.global.commonAnnotations }}
annotations:
  {{- tpl (toYaml .) $.root | nindent 2 }}
{{- end }}
{{- end }}

{{/* What an image is, where a component says nothing else. root, image */}}
{{- define "mailroom.imageValues" -}}
{{- $image := deepCopy .root.Values.image -}}
{{- range $key, $value := .image }}{{ if $value }}{{ $_ := set $image $key $value }}{{ end }}{{ end -}}
{{- $image | toYaml -}}
{{- end }}

{{/* image and imagePullPolicy of a container. root, service, image */}}
{{- define "mailroom.image" -}}
{{- $image := include "mailroom.imageValues" . | fromYaml -}}
{{- $registry := default .root.Values.global.imageRegistry $image.registry -}}
{{- $name := replace "{service}" .service $image.repository -}}
image: {{ with $registry }}{{ . }}/{{ end }}{{ $name }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .root.Chart.AppVersion $image.tag }}{{ end }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end }}

{{/* The host of a URL. */}}
{{- define "mailroom.host" -}}
{{- (urlParse .).host | splitList ":" | first -}}
{{- end }}

{{- define "mailroom.webhookURL" -}}
{{- default .Values.publicURL .Values.webhookURL | trimSuffix "/" -}}
{{- end }}
