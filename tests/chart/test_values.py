"""Values that cannot work are refused with a sentence."""

from typing import Any

import pytest
from chart.rendering import HELMS, RenderFailure, render

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown key": ({"replcas": 3}, "replcas"),
    "an unknown key of a component": ({"components": {"ingestionApi": {"replcas": 3}}}, "replcas"),
    "an unknown component": ({"components": {"parser": {}}}, "parser"),
    "a wrong type": ({"components": {"ingestionApi": {"replicas": "many"}}}, "replicas"),
    "no brokers": ({"kafka": {"bootstrapServers": ""}}, "kafka.bootstrapServers is needed"),
    "no address": ({"publicURL": ""}, "publicURL is needed"),
    "no database": ({"database": {"existingSecret": ""}}, "database.existingSecret is needed"),
    "no token keys": ({"tokens": {"keys": {"existingSecret": ""}}}, "tokens.keys.existingSecret is needed"),
    "no API keys": ({"api": {"keys": {"existingSecret": ""}}}, "api.keys.existingSecret is needed"),
    "no object store": ({"objectStorage": {"url": ""}}, "objectStorage.url is needed"),
    "plain http": ({"publicURL": "http://mail.example.com"}, "must begin with https://"),
    "Kafka without TLS": ({"kafka": {"securityProtocol": "SASL_PLAINTEXT"}}, "has no TLS"),
    "an object store without TLS": (
        {"objectStorage": {"endpoint": "http://minio.data:9000"}},
        "objectStorage.endpoint must begin with https://",
    ),
    "a provider without TLS": (
        {"components": {"syncEngineWorker": {"settings": {"MAILROOM_GRAPH_URL": "http://graph.example.com/v1.0"}}}},
        "components.syncEngineWorker.settings.MAILROOM_GRAPH_URL must begin with https://",
    ),
    "a database that is not verified": (
        {
            "components": {
                "ingestionApi": {"extraEnv": [{"name": "MAILROOM_DATABASE_URL", "value": "postgresql://u:p@db/m"}]}
            }
        },
        "components.ingestionApi.extraEnv: MAILROOM_DATABASE_URL needs .sslmode=verify-full",
    ),
    "a provider without its secret": (
        {"providers": {"gmail": {"clientId": "1.apps.googleusercontent.com"}}},
        "providers.gmail.clientSecret.existingSecret is needed beside clientId",
    ),
    "a provider without its id": (
        {"providers": {"outlook": {"clientId": "", "clientSecret": {"existingSecret": "mailroom-microsoft"}}}},
        "providers.outlook.clientId is needed beside clientSecret",
    ),
    "Gmail that has nowhere to announce changes": (
        {"providers": {"gmail": {"clientId": "1.example", "clientSecret": {"existingSecret": "mailroom-google"}}}},
        "providers.gmail.pubsub.topic is needed",
    ),
    "an audience without its account": (
        {"providers": {"gmail": {"pubsub": {"audience": "https://hooks.example.com/webhooks/gmail"}}}},
        "providers.gmail.pubsub.audience and serviceAccount are needed together",
    ),
    "no time to stop": (
        {"components": {"ingestionApi": {"preStopSeconds": 10, "terminationGracePeriodSeconds": 20}}},
        "terminationGracePeriodSeconds must be longer",
    ),
    "work that nobody counts": ({"components": {"webhookGateway": {"autoscaling": {"type": "keda"}}}}, "take hpa"),
    "none at times": ({"components": {"syncEngineWorker": {"autoscaling": {"minReplicas": 0}}}}, "minReplicas"),
    "more than partitions": ({"components": {"syncEngineWorker": {"replicas": 49}}}, "replicas"),
    "least above most": ({"defaults": {"autoscaling": {"minReplicas": 20}}}, "minReplicas is above maxReplicas"),
    "topics of no cluster": ({"strimzi": {"topics": {"create": True}}}, "strimzi.cluster is needed"),
    "a route to nothing": ({"httpRoute": {"api": {"enabled": True}}}, "httpRoute.api.parentRefs is needed"),
    "secrets of no store": ({"externalSecrets": {"enabled": True}}, "externalSecrets.secretStoreRef is needed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused(case: str) -> None:
    values, sentence = REFUSED[case]
    with pytest.raises(RenderFailure, match=sentence):
        render("minimal", values)


def test_a_trial_may_go_without_tls() -> None:
    assert render("trial", {"objectStorage": {"endpoint": "http://minio.data:9000"}})


@pytest.mark.parametrize("helm", HELMS)
def test_both_helms_hold_the_schema(helm: str) -> None:
    with pytest.raises(RenderFailure, match="replcas"):
        render("minimal", {"replcas": 3}, helm=helm)
