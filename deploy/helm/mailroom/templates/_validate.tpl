{{/* What the schema cannot say: values that need each other. */}}
{{- define "mailroom.validate" -}}
{{- $_ := required "publicURL is needed: the https address where people reach this site" .Values.publicURL -}}
{{- $_ := required "kafka.bootstrapServers is needed: the brokers to start from, host:port" .Values.kafka.bootstrapServers -}}
{{- $_ := required "objectStorage.url is needed: s3://bucket/prefix, gs://bucket/prefix, or file:///folder on a shared volume" .Values.objectStorage.url -}}
{{- if not .Values.insecure -}}
{{- if not (and (hasPrefix "https://" .Values.publicURL) (hasPrefix "https://" (include "mailroom.webhookURL" .))) -}}
{{- fail "publicURL and webhookURL must begin with https:// (or set insecure: true, for a trial)" -}}
{{- end -}}
{{- if not (hasSuffix "SSL" .Values.kafka.securityProtocol) -}}
{{- fail (printf "kafka.securityProtocol %s has no TLS: take SSL or SASL_SSL (or set insecure: true, for a trial)" .Values.kafka.securityProtocol) -}}
{{- end -}}
{{- if hasPrefix "http://" (lower .Values.objectStorage.endpoint) -}}
{{- fail "objectStorage.endpoint must begin with https:// (or set insecure: true, for a trial)" -}}
{{- end -}}
{{- range $key, $component := include "mailroom.components" . | fromYaml -}}
{{- $values := include "mailroom.componentValues" (dict "root" $ "key" $key) | fromYaml -}}
{{- range $name, $value := $values.settings -}}
{{- include "mailroom.validateURL" (dict "where" (printf "components.%s.settings.%s" $key $name) "value" $value) -}}
{{- end -}}
{{- range $values.extraEnv -}}
{{- if hasPrefix "MAILROOM_" .name -}}
{{- include "mailroom.validateURL" (dict "where" (printf "components.%s.extraEnv: %s" $key .name) "value" .value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key, $component := include "mailroom.components" . | fromYaml -}}
{{- $values := include "mailroom.componentValues" (dict "root" $ "key" $key) | fromYaml -}}
{{- if le (int $values.terminationGracePeriodSeconds) (add $values.preStopSeconds 10) -}}
{{- fail (printf "components.%s: terminationGracePeriodSeconds must be longer than preStopSeconds and the 10 s that a process takes to stop" $key) -}}
{{- end -}}
{{- if and (eq $values.autoscaling.type "keda") (not $component.scaling) -}}
{{- fail (printf "components.%s.autoscaling: keda counts waiting records, and this process has none; take hpa" $key) -}}
{{- end -}}
{{- if gt (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas) -}}
{{- fail (printf "components.%s.autoscaling: minReplicas is above maxReplicas" $key) -}}
{{- end -}}
{{- end -}}
{{- $caller := include "mailroom.componentValues" (dict "root" . "key" "subscriptionManager") | fromYaml -}}
{{- $secrets := dict "database" .Values.database.existingSecret "tokens.keys" .Values.tokens.keys.existingSecret "api.keys" .Values.api.keys.existingSecret -}}
{{- range $where, $secret := $secrets -}}
{{- if and (not $secret) (not (or $caller.extraEnv $caller.extraEnvFrom)) -}}
{{- fail (printf "%s.existingSecret is needed: no service starts without it (docs/install.md, the Secrets)" $where) -}}
{{- end -}}
{{- end -}}
{{- range $name := list "outlook" "gmail" -}}
{{- $provider := index $.Values.providers $name -}}
{{- if and $provider.clientId (not $provider.clientSecret.existingSecret) (not (or $caller.extraEnv $caller.extraEnvFrom)) -}}
{{- fail (printf "providers.%s.clientSecret.existingSecret is needed beside clientId: the Secret that holds the application's secret" $name) -}}
{{- end -}}
{{- if and $provider.clientSecret.existingSecret (not $provider.clientId) (not (or $caller.extraEnv $caller.extraEnvFrom)) -}}
{{- fail (printf "providers.%s.clientId is needed beside clientSecret: the id of the application that the secret belongs to" $name) -}}
{{- end -}}
{{- end -}}
{{- $gmail := .Values.providers.gmail -}}
{{- if and $gmail.clientId (not $gmail.pubsub.topic) -}}
{{- fail "providers.gmail.pubsub.topic is needed: the projects/…/topics/… to which Gmail announces changes" -}}
{{- end -}}
{{- if ne (empty $gmail.pubsub.audience) (empty $gmail.pubsub.serviceAccount) -}}
{{- fail "providers.gmail.pubsub.audience and serviceAccount are needed together: anybody can get a token for an audience" -}}
{{- end -}}
{{- if and (or .Values.strimzi.topics.create .Values.strimzi.users.create) (not .Values.strimzi.cluster) -}}
{{- fail "strimzi.cluster is needed: the name of the Kafka cluster that topics and users belong to" -}}
{{- end -}}
{{- range $side, $route := .Values.httpRoute -}}
{{- if and $route.enabled (not $route.parentRefs) -}}
{{- fail (printf "httpRoute.%s.parentRefs is needed: the Gateways that the route belongs to" $side) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.externalSecrets.enabled (not .Values.externalSecrets.secretStoreRef) -}}
{{- fail "externalSecrets.secretStoreRef is needed: {name, kind} of the store" -}}
{{- end -}}
{{- end }}

{{/* A service refuses such a URL when it starts; here it is refused before anything is installed. */}}
{{- define "mailroom.validateURL" -}}
{{- $url := toString .value -}}
{{- if hasPrefix "http://" (lower $url) -}}
{{- fail (printf "%s must begin with https:// (or set insecure: true, for a trial)" .where) -}}
{{- end -}}
{{- if and (regexMatch "^postgres(ql)?://" $url) (not (contains "sslmode=verify-full" $url)) -}}
{{- fail (printf "%s needs ?sslmode=verify-full (or set insecure: true, for a trial)" .where) -}}
{{- end -}}
{{- end }}
