{{/* From values to the environment of a process. `files/components.yaml` says which variables each process reads. */}}

{{- define "mailroom.components" -}}
{{- .Files.Get "files/components.yaml" -}}
{{- end }}

{{- define "mailroom.jobs" -}}
{{- .Files.Get "files/jobs.yaml" -}}
{{- end }}

{{/* What a component has: its own values over `defaults`. root, key */}}
{{- define "mailroom.componentValues" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values.components .key)) | toYaml -}}
{{- end }}

{{/* The value at a path, as {"value": …}, so that its type survives. root, path */}}
{{- define "mailroom.valueAt" -}}
{{- $value := .root.Values -}}
{{- range splitList "." .path }}{{ $value = index $value . }}{{ end -}}
{{- dict "value" $value | toJson -}}
{{- end }}

{{/* Text for an environment variable. A number from a values file is a float to Helm. root, component, value */}}
{{- define "mailroom.text" -}}
{{- if kindIs "bool" .value -}}
{{- ternary "1" "0" .value -}}
{{- else if kindIs "float64" .value -}}
{{- if eq .value (floor .value) }}{{ int64 .value }}{{ else }}{{ .value }}{{ end -}}
{{- else if or (kindIs "map" .value) (kindIs "slice" .value) -}}
{{- toJson .value -}}
{{- else -}}
{{- toString .value | replace "{component}" .component.name | replace "{service}" .component.service -}}
{{- end -}}
{{- end }}

{{/* Whether the security protocol of Kafka needs the variable. root, variable */}}
{{- define "mailroom.isWanted" -}}
{{- $protocol := .root.Values.kafka.securityProtocol -}}
{{- if has .variable (list "MAILROOM_KAFKA_SASL_MECHANISM" "MAILROOM_KAFKA_USERNAME" "MAILROOM_KAFKA_PASSWORD") -}}
{{- if hasPrefix "SASL_" $protocol }}yes{{ end -}}
{{- else if has .variable (list "MAILROOM_KAFKA_CA" "MAILROOM_KAFKA_CERT" "MAILROOM_KAFKA_KEY") -}}
{{- if hasSuffix "SSL" $protocol }}yes{{ end -}}
{{- else -}}
yes
{{- end -}}
{{- end }}

{{/* The plain variables of a process, as a map. root, component, settings */}}
{{- define "mailroom.config" -}}
{{- $config := dict -}}
{{- range $variable, $path := .component.config -}}
{{- $value := (include "mailroom.valueAt" (dict "root" $.root "path" $path) | fromJson).value -}}
{{- if and $value (include "mailroom.isWanted" (dict "root" $.root "variable" $variable)) -}}
{{- $_ := set $config $variable (include "mailroom.text" (dict "component" $.component "value" $value)) -}}
{{- end -}}
{{- end -}}
{{- if .component.port -}}
{{- $_ := set $config "MAILROOM_HTTP_HOST" "0.0.0.0" -}}
{{- $_ := set $config "MAILROOM_HTTP_PORT" (toString .component.port) -}}
{{- end -}}
{{- range $variable, $value := .settings -}}
{{- $_ := set $config $variable (include "mailroom.text" (dict "component" $.component "value" $value)) -}}
{{- end -}}
{{- $config | toYaml -}}
{{- end }}

{{/* The Secrets of a process, as {"items": [{variable, kind, name, key, file}]}. root, component */}}
{{- define "mailroom.secrets" -}}
{{- $items := list -}}
{{- range $suffix, $table := dict "_FILE" .component.secrets "" .component.files -}}
{{- range $variable, $source := $table -}}
{{- $name := (include "mailroom.valueAt" (dict "root" $.root "path" $source.secret) | fromJson).value -}}
{{- $key := (include "mailroom.valueAt" (dict "root" $.root "path" $source.key) | fromJson).value -}}
{{- $kind := "secret" -}}
{{- if and (eq $variable "MAILROOM_CA_BUNDLE") $.root.Values.caBundle.existingConfigMap -}}
{{- $kind = "configMap" -}}
{{- $name = $.root.Values.caBundle.existingConfigMap -}}
{{- end -}}
{{- if and $name $key (include "mailroom.isWanted" (dict "root" $.root "variable" $variable)) -}}
{{- $items = append $items (dict
      "variable" (print $variable $suffix)
      "kind" $kind
      "name" (include "mailroom.text" (dict "component" $.component "value" $name))
      "key" (include "mailroom.text" (dict "component" $.component "value" $key))
      "file" ($variable | trimPrefix "MAILROOM_" | lower)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "items" $items | toJson -}}
{{- end }}

{{/* Variables that hold the paths of mounted files, and what the AWS client reads by itself. root, component, secrets */}}
{{- define "mailroom.secretEnvironment" -}}
{{- range .secrets }}
- name: {{ .variable }}
  value: /etc/mailroom/secrets/{{ .file }}
{{- end }}
{{- if hasKey .component.config "MAILROOM_BLOB_URL" }}
{{- with .root.Values.objectStorage }}
{{- with .endpoint }}
- name: AWS_ENDPOINT_URL
  value: {{ . | quote }}
{{- end }}
{{- with .region }}
- name: AWS_REGION
  value: {{ . | quote }}
{{- end }}
{{- if .existingSecret }}
- name: AWS_ACCESS_KEY_ID
  valueFrom:
    secretKeyRef: {name: {{ .existingSecret }}, key: {{ .accessKeyIdKey }}}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom:
    secretKeyRef: {name: {{ .existingSecret }}, key: {{ .secretAccessKeyKey }}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The volume of those files, with no key that the process does not read. */}}
{{- define "mailroom.secretVolume" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range .secrets }}
      - {{ .kind }}:
          name: {{ .name }}
          items: [{key: {{ .key }}, path: {{ .file }}}]
      {{- end }}
{{- end }}
