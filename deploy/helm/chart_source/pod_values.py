"""The values of a component: what each has, with its defaults, and what each of the seven says otherwise."""

from typing import Any, Literal

from pydantic import Field

from chart_source.value_types import KubernetesList, KubernetesObject, Values


class ImageOverride(Values):
    """What is empty comes from `image`."""

    registry: str = Field(default="", description="Registry of this image.")
    repository: str = Field(default="", description="Name of this image.")
    tag: str = Field(default="", description="Tag of this image.")
    digest: str = Field(default="", description="Digest of this image.")
    pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = Field(
        default="", description="Pull policy of this image."
    )


class Probes(Values):
    startup: KubernetesObject = Field(
        default={"periodSeconds": 2, "failureThreshold": 60}, description="Until it answers, liveness is not asked."
    )
    liveness: KubernetesObject = Field(
        default={"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
        description="`/livez` on the health port; it asks no dependency.",
    )
    readiness: KubernetesObject = Field(
        default={"periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3},
        description="`/readyz` on the health port.",
    )


class DisruptionBudget(Values):
    enabled: bool = Field(
        default=True, description="Whether there is a PodDisruptionBudget, where there are two copies."
    )
    max_unavailable: int | str = Field(default=1, description="Copies that a drain may take away at once.")


class Autoscaling(Values):
    """`hpa` scales by CPU, `keda` by the work that waits."""

    type: Literal["none", "hpa", "keda"] = Field(default="none", description="Who sets the number of copies.")
    min_replicas: int = Field(
        default=1, ge=1, le=48, description="Fewest copies; never none, since syncs are due at any time."
    )
    max_replicas: int = Field(default=6, ge=1, le=48, description="Most copies; topics have 48 partitions.")
    target_cpu: int = Field(
        default=70, alias="targetCPU", ge=1, description="`hpa`: average CPU in percent of the request."
    )
    lag_threshold: int = Field(default=100, ge=1, description="`keda`: records that wait per copy.")
    prometheus_address: str = Field(
        default="",
        description="`keda`: where Prometheus answers; then the metric of waiting work counts, not Kafka's lag.",
    )
    stabilization_window_seconds: int = Field(
        default=300,
        ge=0,
        description="How long less work must last before a copy is taken away: each step is a rebalance.",
    )


class ServiceAccount(Values):
    create: bool = Field(default=True, description="Whether the chart creates one per component.")
    name: str = Field(default="", description="Name of an existing one, or of the one created.")
    annotations: dict[str, str] = Field(default={}, description="Annotations, for cloud identities.")
    automount: bool = Field(default=False, description="Whether a token for the Kubernetes API is mounted.")


class ServiceValues(Values):
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field(default="ClusterIP", description="Kind of Service.")
    annotations: dict[str, str] = Field(default={}, description="Annotations of the Service.")


class PodValues(Values):
    """What every component has, with its defaults."""

    replicas: int = Field(default=2, ge=0, le=48, description="Copies, where nothing scales them.")
    image: ImageOverride = Field(default=ImageOverride(), description="What this component's image has otherwise.")
    resources: KubernetesObject = Field(
        default={"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        description="Requests and limits. CPU has no limit: a throttled gateway answers late.",
    )
    pod_annotations: dict[str, str] = Field(default={}, description="Annotations for pods; templates are allowed.")
    pod_labels: dict[str, str] = Field(default={}, description="Labels for pods.")
    pod_security_context: KubernetesObject = Field(
        default={
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        description="Pods meet the restricted pod security standard.",
    )
    container_security_context: KubernetesObject = Field(
        default={
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        description="As above, for containers.",
    )
    node_selector: dict[str, str] = Field(default={}, description="Nodes that pods may run on.")
    tolerations: KubernetesList = Field(default=[], description="Taints that pods tolerate.")
    affinity: KubernetesObject = Field(default={}, description="Affinity of pods.")
    topology_spread_constraints: KubernetesList = Field(
        default=[
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"},
            {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"},
        ],
        description="Spread over zones and nodes; the selector is added.",
    )
    priority_class_name: str = Field(default="", description="Priority class of pods.")
    runtime_class_name: str = Field(default="", description="Runtime class of pods, for example a sandboxed one.")
    host_aliases: KubernetesList = Field(default=[], description="Entries of `/etc/hosts`.")
    dns_config: KubernetesObject = Field(default={}, description="DNS settings of pods.")
    extra_env: KubernetesList = Field(default=[], description="More environment variables.")
    extra_env_from: KubernetesList = Field(default=[], description="More sources of environment variables.")
    extra_volumes: KubernetesList = Field(default=[], description="More volumes.")
    extra_volume_mounts: KubernetesList = Field(default=[], description="More mounts.")
    extra_containers: KubernetesList = Field(default=[], description="Containers beside the process.")
    init_containers: KubernetesList = Field(default=[], description="Containers before the process.")
    temporary_storage: str = Field(
        default="256Mi", description="Size of the emptyDir at `/tmp`; nothing else is writable."
    )
    pre_stop_seconds: int = Field(
        default=0, ge=0, description="Pause before SIGTERM, in which load balancers take the pod out."
    )
    termination_grace_period_seconds: int = Field(
        default=15, ge=11, description="A process stops within 10 s; with `preStopSeconds` before, this must be longer."
    )
    revision_history_limit: int = Field(default=3, ge=0, description="Old revisions that are kept.")
    min_ready_seconds: int = Field(default=0, ge=0, description="How long a pod must be ready before it counts.")
    probes: Probes = Field(default=Probes(), description="Timing of the probes; paths and port are fixed.")
    pod_disruption_budget: DisruptionBudget = Field(default=DisruptionBudget(), description="How drains are held back.")
    autoscaling: Autoscaling = Field(default=Autoscaling(), description="How the number of copies changes.")
    service_account: ServiceAccount = Field(default=ServiceAccount(), description="Identity of the pods.")
    service: ServiceValues = Field(default=ServiceValues(), description="Services of what is reached by HTTP.")


class ComponentValues(PodValues):
    """A component: what it leaves out comes from `defaults`."""

    enabled: bool = Field(default=True, description="Whether it is deployed.")
    settings: dict[str, Any] = Field(default={}, description="Further settings of the process, by variable.")


def _component(**values: Any) -> ComponentValues:  # Any: the fields of the model
    return ComponentValues(enabled=True, **values)


_API_PODS = {"pre_stop_seconds": 5, "termination_grace_period_seconds": 20}


class ComponentsValues(Values):
    webhook_gateway: ComponentValues = Field(
        default=_component(
            replicas=3,
            **_API_PODS,
            resources={"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
            autoscaling=Autoscaling(type="none", min_replicas=3, max_replicas=12),
        ),
        description="Takes the providers' pushes.",
    )
    subscription_manager: ComponentValues = Field(
        default=_component(**_API_PODS), description="Owns doc sources, consent and subscriptions."
    )
    ingestion_api: ComponentValues = Field(
        default=_component(
            **_API_PODS,
            # A parser process of 512 MiB beside the API itself, which draws the pages that somebody looks at.
            resources={"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        ),
        description="Serves documents and their event stream.",
    )
    sync_engine_coalescer: ComponentValues = Field(
        default=_component(), description="Turns bursts of notifications into one sync request."
    )
    sync_engine_worker: ComponentValues = Field(
        default=_component(
            # Two parser processes of 1 GiB each beside the worker itself, which open attached mails and archives.
            resources={"requests": {"cpu": "250m", "memory": "768Mi"}, "limits": {"memory": "3Gi"}},
            # 16 containers of 50 MB at most, beside what a blob store in S3 keeps of its uploads.
            temporary_storage="2Gi",
            autoscaling=Autoscaling(type="none", min_replicas=2, max_replicas=8),
        ),
        description="Syncs the mailboxes of the partitions that it owns.",
    )
    ingestion_worker: ComponentValues = Field(
        default=_component(
            # Its limit is that of its parser and OCR processes and 1 GiB for itself (`mailroom.memoryLimit`).
            resources={"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": ""}},
            temporary_storage="1Gi",
            autoscaling=Autoscaling(type="none", min_replicas=2, max_replicas=8),
        ),
        description="Reads, routes and archives documents. An empty limit of memory follows from its settings: 1 GiB, "
        "and what its parser and OCR processes may take.",
    )
    sync_engine_api: ComponentValues = Field(
        default=_component(**_API_PODS), description="Says what became of each mail."
    )
