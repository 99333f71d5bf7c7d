"""Small builders of Kubernetes objects that every part of the cluster test uses."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]  # Any: an object of Kubernetes' API, as its JSON


def build_namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def build_secret(namespace: str, name: str, values: Mapping[str, str]) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": dict(values)}


def build_config_map(namespace: str, name: str, values: Mapping[str, str]) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(values)}


def build_service(namespace: str, name: str, port: int, *, is_headless: bool = False) -> Object:
    """Headless: each pod has a name of its own, also before it is ready, as a quorum that is forming needs it."""
    spec: Object = {"selector": {"app": name}, "ports": [{"port": port}]}
    if is_headless:
        spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def build_stateful_set(namespace: str, name: str, replicas: int, pod: Object) -> Object:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "serviceName": name,
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
