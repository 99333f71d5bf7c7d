"""The chart's values as models: `values.yaml`, `values.schema.json` and the chart's README are generated from them."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from chart_source.pod_values import ComponentsValues, PodValues
from chart_source.value_types import KubernetesList, KubernetesObject, Port, Values


class Global(Values):
    # A parent chart puts more here than we know of.
    model_config = ConfigDict(extra="allow")

    image_registry: str = Field(
        default="", description="Registry of all images, where `image.registry` is not to be used."
    )
    image_pull_secrets: KubernetesList = Field(default=[], description="Pull secrets, as `[{name: …}]`.")
    common_labels: dict[str, str] = Field(default={}, description="Labels for every object.")
    common_annotations: dict[str, str] = Field(default={}, description="Annotations for every object.")


class Image(Values):
    registry: str = Field(default="", description="Registry; empty takes the container runtime's default.")
    repository: str = Field(
        default="mailroom/{service}",
        description="Name, as `make images` gives it; `{service}` becomes the component's service, `cli` for jobs.",
    )
    tag: str = Field(default="", description="Tag; the chart's `appVersion` where it is empty.")
    digest: str = Field(default="", description="`sha256:…`; goes before the tag where it is set.")
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(default="IfNotPresent", description="Pull policy.")


class SecretKey(Values):
    existing_secret: str = Field(default="", description="Name of an existing Secret; the chart creates none.")
    key: str = Field(description="Key in that Secret.")


class KafkaTLS(Values):
    existing_secret: str = Field(
        default="", description="Secret with the CA of the brokers; empty trusts the system's CAs."
    )
    ca_key: str = Field(default="ca.crt", description="Key of the CA certificate in that Secret.")
    client_secret: str = Field(
        default="",
        description="Secret with the client certificate; `{component}` becomes the component's name. Empty: none.",
    )
    cert_key: str = Field(default="user.crt", description="Key of the client certificate in `clientSecret`.")
    key_key: str = Field(default="user.key", description="Key of the client's private key in `clientSecret`.")


class KafkaSASL(Values):
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="SCRAM-SHA-512", description="Mechanism."
    )
    username: str = Field(
        default="mailroom-{component}",
        description="User; `{component}` becomes the component's name, `topics` for the job that creates the topics.",
    )
    existing_secret: str = Field(default="mailroom-{component}", description="Secret with the password, per component.")
    password_key: str = Field(
        default="password", description="Key of the password; `{component}` is replaced here too."
    )


class Kafka(Values):
    bootstrap_servers: str = Field(
        default="", description="Brokers to start from, comma-separated `host:port`. Required."
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        default="SASL_SSL", description="The services refuse the two without TLS unless `insecure` is set."
    )
    tls: KafkaTLS = Field(default=KafkaTLS(), description="Certificates, for `SSL` and `SASL_SSL`.")
    sasl: KafkaSASL = Field(default=KafkaSASL(), description="Users and passwords, for the protocols with SASL.")
    topic_prefix: str = Field(
        default="", description="Put before every topic and group, for several sites on one Kafka."
    )
    replication: int = Field(default=3, ge=1, description="Copies of each partition of a topic that is created.")


class Database(Values):
    existing_secret: str = Field(
        default="mailroom-database", description="Secret with `postgresql://…?sslmode=verify-full` of each role."
    )
    url_key: str = Field(
        default="{service}-url", description="Key of a service's URL; `{service}` is the service's name."
    )
    token_url_key: str = Field(default="", description="Key of the token schema's URL; empty: that of the service.")
    owner_url_key: str = Field(
        default="owner-url", description="Key of the URL that migrations use: the owner of the schemas."
    )


class ObjectStorage(Values):
    url: str = Field(
        default="",
        description="`s3://bucket/prefix`, `gs://bucket/prefix`, or `file:///folder` on a volume that pods share. "
        "Required.",
    )
    endpoint: str = Field(
        default="", description="Address of an S3-compatible store (`AWS_ENDPOINT_URL`); empty is AWS."
    )
    region: str = Field(default="", description="Region of the bucket (`AWS_REGION`).")
    existing_secret: str = Field(
        default="", description="Secret with the access key; empty takes the pod's own identity."
    )
    access_key_id_key: str = Field(default="access-key-id", description="Key of the access key's id.")
    secret_access_key_key: str = Field(default="secret-access-key", description="Key of the secret access key.")


class Tokens(Values):
    store: str = Field(default="postgres", description="Where grants are kept (`MAILROOM_TOKEN_STORE`).")
    keys: SecretKey = Field(
        default=SecretKey(existing_secret="mailroom-tokens", key="token-keys"),
        description="Keys that seal grants: comma-separated `id:base64 of 32 bytes`; the first seals, all open.",
    )


class API(Values):
    keys: SecretKey = Field(
        default=SecretKey(existing_secret="mailroom-api", key="api-keys"),
        description="Who may call the API: comma-separated `tenant:role:sha256-hex-of-the-key`.",
    )
    tenants: dict[str, Any] = Field(
        default={},
        description="For each tenant the provider tenants and mail domains that application access may reach.",
    )


class Outlook(Values):
    client_id: str = Field(
        default="", description="Application (client) id at Microsoft; empty: Outlook cannot be connected."
    )
    client_secret: SecretKey = Field(default=SecretKey(key="client-secret"), description="Secret of that application.")


class PubSub(Values):
    topic: str = Field(default="", description="`projects/…/topics/…` that Gmail's watches publish to.")
    subscription: str = Field(default="", description="`projects/…/subscriptions/…`; pushes of other ones are refused.")
    audience: str = Field(default="", description="Audience that the signed token of a push must name.")
    service_account: str = Field(default="", description="E-mail of the service account that signs pushes.")
    token: SecretKey = Field(default=SecretKey(key="pubsub-token"), description="Token that a push must carry.")


class Gmail(Values):
    client_id: str = Field(default="", description="OAuth client id at Google; empty: Gmail cannot be connected.")
    client_secret: SecretKey = Field(default=SecretKey(key="client-secret"), description="Secret of that client.")
    service_account_key: SecretKey = Field(
        default=SecretKey(key="service-account.json"), description="JSON key of a service account with delegation."
    )
    pubsub: PubSub = Field(default=PubSub(), description="How Gmail's pushes arrive and are proved.")


class Providers(Values):
    outlook: Outlook = Field(default=Outlook(), description="Microsoft Graph.")
    gmail: Gmail = Field(default=Gmail(), description="Gmail API.")


class LanguageModel(Values):
    # Off by default: no document leaves the site unless a tenant's are named here.
    use: str = Field(
        default="",
        description="Whose documents a language model reads too: comma-separated `tenant:profile:task` "
        "(`MAILROOM_LLM_USE`); empty: none.",
    )
    api: Literal["anthropic", "openai"] = Field(
        default="anthropic", description="What its endpoint speaks (`MAILROOM_LLM_API`)."
    )
    url: str = Field(default="", description="Base URL of the endpoint; empty is Anthropic's (`MAILROOM_LLM_URL`).")
    model: str = Field(default="", description="Name of the model (`MAILROOM_LLM_MODEL`).")
    key: SecretKey = Field(default=SecretKey(key="llm-key"), description="Key for the endpoint (`MAILROOM_LLM_KEY`).")


class CABundle(Values):
    existing_secret: str = Field(
        default="", description="Secret with CAs for providers and Postgres; empty: the system's."
    )
    existing_config_map: str = Field(default="", description="ConfigMap with them, instead of a Secret.")
    key: str = Field(default="ca.crt", description="Key of the certificates.")


class TLSSecret(Values):
    enabled: bool = Field(default=True, description="Whether the hosts are served with TLS.")
    existing_secret: str = Field(
        default="", description="Secret with the certificate; empty: the controller's default."
    )


class IngressRoute(Values):
    enabled: bool = Field(default=False, description="Whether there is an Ingress.")
    class_name: str = Field(default="", description="Ingress class.")
    annotations: dict[str, str] = Field(default={}, description="Annotations; templates are allowed.")
    hosts: list[str] = Field(default=[], description="Host names; empty: the host of the URL.")
    tls: TLSSecret = Field(default=TLSSecret(), description="Certificate.")


class HTTPRouteValues(Values):
    enabled: bool = Field(default=False, description="Whether there is an HTTPRoute (Gateway API).")
    parent_refs: KubernetesList = Field(default=[], description="Gateways that it belongs to.")
    hostnames: list[str] = Field(default=[], description="Host names; empty: the host of the URL.")
    annotations: dict[str, str] = Field(default={}, description="Annotations.")
    filters: KubernetesList = Field(default=[], description="Filters of every rule.")
    timeouts: KubernetesObject = Field(default={}, description="Timeouts of every rule.")


class IngressValues(Values):
    webhooks: IngressRoute = Field(default=IngressRoute(), description="What the providers call.")
    api: IngressRoute = Field(default=IngressRoute(), description="What people and their programs call.")


class HTTPRoutesValues(Values):
    webhooks: HTTPRouteValues = Field(
        default=HTTPRouteValues(timeouts={"request": "10s"}), description="What the providers call."
    )
    # The event stream of documents has no end, hence no timeout.
    api: HTTPRouteValues = Field(
        default=HTTPRouteValues(timeouts={"request": "0s"}), description="What people and their programs call."
    )


_PRIVATE_NETWORKS = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"]
_TO_PRIVATE_NETWORKS = [{"ipBlock": {"cidr": network}} for network in _PRIVATE_NETWORKS]
# Never the instance's own metadata, where credentials of the node lie.
_TO_ANYWHERE = [
    {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}},
    {"ipBlock": {"cidr": "::/0", "except": ["fe80::/10"]}},
]
_TO_NAME_SERVERS = [
    {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}},
    {"ipBlock": {"cidr": "169.254.20.10/32"}},  # where each node has a name server of its own
]


class NetworkPolicyValues(Values):
    # Not by default: only the installer knows where brokers, database and name servers are, and a network plug-in that
    # enforces policies cuts off what is not named.
    enabled: bool = Field(
        default=False,
        description="Whether pods reach, and are reached by, no more than they need. Check the rules below first.",
    )
    ingress_from: KubernetesList = Field(
        default=[], description="Peers that reach the HTTP ports, such as the ingress controller; empty: any."
    )
    metrics_from: KubernetesList = Field(default=[], description="Peers that reach the health port; empty: any.")
    dns: KubernetesList = Field(
        default=[{"to": _TO_NAME_SERVERS, "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}],
        description="Egress rules that reach the name servers.",
    )
    kafka: KubernetesList = Field(
        default=[{"to": _TO_PRIVATE_NETWORKS, "ports": [{"port": 9092}, {"port": 9093}, {"port": 9094}]}],
        description="Egress rules that reach the brokers: by default private networks.",
    )
    database: KubernetesList = Field(
        default=[{"to": _TO_PRIVATE_NETWORKS, "ports": [{"port": 5432}]}],
        description="Egress rules that reach Postgres: by default private networks.",
    )
    object_storage: KubernetesList = Field(
        default=[{"to": _TO_ANYWHERE, "ports": [{"port": 443}]}],
        description="Egress rules that reach the object store: by default anywhere, since S3 has public addresses. "
        "Name its networks where you know them.",
    )
    providers: KubernetesList = Field(
        default=[],
        description="Egress rules that reach the providers, or `httpsProxy`; empty: port 443 of everything but "
        "`excludedNetworks`.",
    )
    language_model: KubernetesList = Field(
        default=[],
        description="Egress rules that reach the language model, or `httpsProxy`; empty: port 443 of everything but "
        "`excludedNetworks`. Only where `languageModel.use` names a tenant.",
    )
    excluded_networks: list[str] = Field(
        default=["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"],
        description="Networks that calls of the providers may not reach: no redirect leads inside.",
    )
    extra_egress: KubernetesList = Field(default=[], description="Egress rules for all pods.")


class Migrations(Values):
    mode: Literal["hook", "job", "none"] = Field(
        default="hook", description="Before the pods: a Helm hook, a plain Job for tools without hooks, or nothing."
    )
    args: list[str] = Field(
        default=["migrate", "--grant-roles"],
        description="Arguments of `mailroom`. The roles have to exist; `[migrate]` alone leaves rights as they are.",
    )
    extra_env: KubernetesList = Field(
        default=[], description="More variables of the jobs, such as the names of the roles (`MAILROOM_ROLE_…`)."
    )
    topics: bool = Field(default=True, description="Whether a second job runs `mailroom topics apply`.")
    topics_args: list[str] = Field(default=["topics", "apply"], description="Arguments of `mailroom` in that job.")
    backoff_limit: int = Field(default=3, ge=0, description="Attempts after the first.")
    active_deadline_seconds: int = Field(
        default=3600,
        ge=1,
        description="Longest time of a job: an index of a big table takes minutes. Of a hook see `--timeout` too.",
    )
    ttl_seconds_after_finished: int = Field(default=3600, ge=0, description="How long a plain Job is kept.")
    resources: KubernetesObject = Field(
        default={"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        description="Of the jobs.",
    )
    service_account_name: str = Field(
        default="", description="Existing service account of the jobs; empty: the default one."
    )


class StrimziTopics(Values):
    create: bool = Field(
        default=False, description="Whether KafkaTopic objects are made; they stay when the chart goes."
    )


class StrimziUsers(Values):
    create: bool = Field(default=False, description="Whether a KafkaUser with its ACLs is made per component.")
    authentication: Literal["scram-sha-512", "tls"] = Field(
        default="scram-sha-512", description="How users prove themselves."
    )


class Strimzi(Values):
    cluster: str = Field(default="", description="Name of the Kafka cluster that topics and users belong to.")
    namespace: str = Field(
        default="",
        description="Namespace of that cluster; empty: the release's. Users' Secrets appear there: copy them.",
    )
    topics: StrimziTopics = Field(default=StrimziTopics(), description="Topics as objects.")
    users: StrimziUsers = Field(default=StrimziUsers(), description="Users as objects.")


class ExternalSecrets(Values):
    enabled: bool = Field(
        default=False, description="Whether ExternalSecret objects fill the Secrets that are named here."
    )
    secret_store_ref: KubernetesObject = Field(default={}, description="`{name, kind}` of the store.")
    refresh_interval: str = Field(default="1h", description="How often they are read again.")
    data: dict[str, dict[str, Any]] = Field(
        default={}, description="For each Secret its keys, and for each key the `remoteRef` of the store."
    )


class ServiceMonitorValues(Values):
    enabled: bool = Field(default=False, description="Whether a ServiceMonitor per component is made.")
    labels: dict[str, str] = Field(default={}, description="Labels that Prometheus selects by.")
    interval: str = Field(default="30s", description="How often metrics are read.")


class PrometheusRuleValues(Values):
    enabled: bool = Field(default=False, description="Whether the alerts are made.")
    labels: dict[str, str] = Field(default={}, description="Labels that Prometheus selects by.")
    disabled: list[str] = Field(default=[], description="Names of alerts to leave out.")
    runbook_url: str = Field(
        default="",
        alias="runbookURL",
        description="Address of `docs/runbook.md` as you publish it; the heading is appended.",
    )


class DashboardValues(Values):
    enabled: bool = Field(default=False, description="Whether a ConfigMap per Grafana dashboard is made.")
    labels: dict[str, str] = Field(
        default={"grafana_dashboard": "1"}, description="Labels that Grafana's sidecar looks for."
    )
    annotations: dict[str, str] = Field(default={}, description="Annotations, such as the folder.")


class Metrics(Values):
    service_monitor: ServiceMonitorValues = Field(default=ServiceMonitorValues(), description="Scraping.")
    prometheus_rule: PrometheusRuleValues = Field(default=PrometheusRuleValues(), description="Alerts.")
    dashboards: DashboardValues = Field(default=DashboardValues(), description="Dashboards.")


class ReleaseTests(Values):
    enabled: bool = Field(default=True, description="Whether `helm test` has its pod.")


class ChartValues(Values):
    name_override: str = Field(default="", description="Instead of the chart's name in object names.")
    fullname_override: str = Field(default="", description="Instead of release and chart name in object names.")
    global_: Global = Field(default=Global(), alias="global", description="What a parent chart shares.")
    image: Image = Field(default=Image(), description="The images.")
    public_url: str = Field(
        default="", alias="publicURL", description="`https://…` where people reach this site. Required."
    )
    webhook_url: str = Field(
        default="", alias="webhookURL", description="`https://…` where providers reach it; empty: `publicURL`."
    )
    trusted_proxies: str = Field(
        default="", description="Comma-separated networks whose `X-Forwarded-For` is believed."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level that is logged."
    )
    insecure: bool = Field(
        default=False, description="Allows connections without TLS beyond this machine. For trials only."
    )
    https_proxy: str = Field(default="", description="Proxy for calls of the providers.")
    ca_bundle: CABundle = Field(default=CABundle(), description="CAs of providers, proxies and Postgres.")
    kafka: Kafka = Field(default=Kafka(), description="The cluster.")
    database: Database = Field(default=Database(), description="Postgres.")
    object_storage: ObjectStorage = Field(default=ObjectStorage(), description="Where attachments and the archive are.")
    tokens: Tokens = Field(default=Tokens(), description="How grants are kept.")
    api: API = Field(default=API(), description="Who may call the API.")
    providers: Providers = Field(default=Providers(), description="The mail providers.")
    language_model: LanguageModel = Field(
        default=LanguageModel(), description="A language model that reads documents too; limits are settings."
    )
    health_port: Port = Field(
        default=9090, description="Port of probes and metrics, apart from the API; no route leads to it."
    )
    defaults: PodValues = Field(default=PodValues(), description="What every component has that says nothing else.")
    components: ComponentsValues = Field(
        default=ComponentsValues(), description="The processes; each has every key of `defaults` beside those shown."
    )
    ingress: IngressValues = Field(
        default=IngressValues(), description="Routes by Ingress; webhooks apart from the API."
    )
    http_route: HTTPRoutesValues = Field(default=HTTPRoutesValues(), description="Routes by the Gateway API.")
    network_policy: NetworkPolicyValues = Field(default=NetworkPolicyValues(), description="NetworkPolicies.")
    migrations: Migrations = Field(default=Migrations(), description="Jobs that go before the pods.")
    strimzi: Strimzi = Field(
        default=Strimzi(), description="Topics and users as objects of Strimzi (`kafka.strimzi.io/v1`)."
    )
    external_secrets: ExternalSecrets = Field(default=ExternalSecrets(), description="Secrets by external-secrets.")
    metrics: Metrics = Field(default=Metrics(), description="For Prometheus and Grafana.")
    extra_objects: list[KubernetesObject | str] = Field(
        default=[], description="Objects beside; templates are allowed."
    )
    tests: ReleaseTests = Field(default=ReleaseTests(), description="`helm test`.")
