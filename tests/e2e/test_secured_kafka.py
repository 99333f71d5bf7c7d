"""Our clients on a Kafka that asks who they are: every mechanism, client certificates, and the ACLs of a site."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import trustme
from aiokafka import TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.errors import KafkaError
from kafka_rights import Rights, find_rights
from pydantic import SecretStr

from mailroom_cli.apply_acls import apply_access_rules
from mailroom_common.kafka.client import create_admin_client, create_consumer, create_producer
from mailroom_common.kafka.security import KafkaSecurity, SASLMechanism
from mailroom_common.topic_access import (
    COMPONENTS,
    INTAKE_GROUP,
    AccessRule,
    Operation,
    Resource,
    list_access_rules,
    list_operator_rules,
)
from mailroom_common.topics import NOTIFICATIONS, REPLAY_GROUP_PREFIX, list_deployed_topics
from mailroom_sandbox.site.stack import jars
from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.home import Home, find_home
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.kafka_security import ClusterAccess, prepare_broker_security
from mailroom_sandbox.site.stack.ports import free_port

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
TOPIC = "letters"


class SecuredKafka:
    """`by_password` is where SASL is spoken, `by_certificate` where a client certificate is asked for."""

    def __init__(self, folder: Path, jar_folder: Path) -> None:
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1")
        home = Home(folder)
        home.tls.mkdir(parents=True)
        certificates = Certificates(home.tls / "ca.pem", home.tls / "server.pem")
        issued.private_key_and_cert_chain_pem.write_to_path(certificates.server)
        authority.cert_pem.write_to_path(certificates.bundle)
        self.client = folder / "client.pem"
        authority.issue_cert("ingestion@x.test", common_name="ingestion").private_key_and_cert_chain_pem.write_to_path(
            self.client
        )
        self.security = prepare_broker_security(home, certificates)
        port = free_port()
        controller = free_port(avoid=[port])
        certified = free_port(avoid=[port, controller])
        self.by_certificate = f"127.0.0.1:{certified}"
        self.broker = Kafka(
            home.kafka,
            jar_folder,
            port=port,
            controller_port=controller,
            log=folder / "kafka.log",
            security=self.security,
            format_options=[f"--add-scram={name}=[name=scrammed,password=scram-password]" for name in SCRAM],
            extra_settings={
                "listeners": f"CLIENTS://127.0.0.1:{port},CERTIFIED://127.0.0.1:{certified},"
                f"CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": f"CLIENTS://127.0.0.1:{port},CERTIFIED://127.0.0.1:{certified}",
                "listener.security.protocol.map": "CLIENTS:SASL_SSL,CONTROLLER:SASL_SSL,CERTIFIED:SSL",
                "listener.name.certified.ssl.client.auth": "required",
                "ssl.principal.mapping.rules": "RULE:^CN=([^,]+),.*$/$1/",
                "listener.name.clients.sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM)),
                **{f"listener.name.clients.{name.lower()}.sasl.jaas.config": SCRAM_LOGIN for name in SCRAM},
            },
        )

    def access_by_password(self, mechanism: SASLMechanism, user: str, password: str) -> ClusterAccess:
        ca = self.security.authorities
        return ClusterAccess(
            self.broker.bootstrap, KafkaSecurity("SASL_SSL", mechanism, user, SecretStr(password), ca=ca)
        )

    def access_by_certificate(self, client: Path | None) -> ClusterAccess:
        ca = self.security.authorities
        return ClusterAccess(self.by_certificate, KafkaSecurity("SSL", ca=ca, cert=client, key=client))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SecuredKafka]:
    secured = SecuredKafka(tmp_path_factory.mktemp("kafka"), await jars.provide_jars(find_home().jars))
    secured.broker.start()
    try:
        await secured.broker.wait_until_ready()
        admin = create_admin_client(secured.broker.admin_access)
        await admin.start()
        await admin.create_topics([NewTopic(TOPIC, 1, 1)])
        await admin.close()
        yield secured
    finally:
        await secured.broker.stop()


async def exchange_record(access: ClusterAccess) -> bytes:
    """Writes a record, and reads it as a member of a group."""
    async with create_producer(access, acks="all", enable_idempotence=True) as producer:
        written = await producer.send_and_wait(TOPIC, b"hello")
    group = f"letters.{written.offset}"
    async with create_consumer(access, TOPIC, group_id=group, auto_offset_reset="earliest") as consumer:
        while (record := await consumer.getone()).offset < written.offset:
            pass
        await consumer.commit()
    return bytes(record.value)


async def allow_everything(kafka: SecuredKafka, principal: str) -> None:
    groups = [AccessRule(principal, Resource.GROUP, f"letters.{number}", Operation.READ) for number in range(10)]
    topics = [AccessRule(principal, Resource.TOPIC, TOPIC, each) for each in (Operation.READ, Operation.WRITE)]
    await apply_access_rules(kafka.broker.admin_access, [*topics, *groups])


@pytest.mark.parametrize("mechanism", SCRAM)
async def test_a_user_with_a_scram_password_reads_and_writes_what_is_allowed(
    kafka: SecuredKafka, mechanism: SASLMechanism
) -> None:
    await allow_everything(kafka, "User:scrammed")
    async with asyncio.timeout(60):
        assert await exchange_record(kafka.access_by_password(mechanism, "scrammed", "scram-password")) == b"hello"


async def test_a_client_is_known_by_its_certificate(kafka: SecuredKafka) -> None:
    access = kafka.access_by_certificate(kafka.client)
    with pytest.raises(KafkaError, match="AuthorizationFailed"):
        async with asyncio.timeout(60):
            await exchange_record(access)
    await allow_everything(kafka, "User:ingestion")
    async with asyncio.timeout(60):
        assert await exchange_record(access) == b"hello"


async def test_whoever_proves_nothing_is_refused(kafka: SecuredKafka) -> None:
    refused = [
        kafka.access_by_certificate(None),
        kafka.access_by_password("PLAIN", "scrammed", "scram-password"),
        kafka.access_by_password("SCRAM-SHA-512", "scrammed", "another password"),
    ]
    for access in refused:
        admin = create_admin_client(access, request_timeout_ms=5_000)
        with pytest.raises(KafkaError):
            await admin.start()
        await admin.close()


async def test_acls_are_created_once_and_what_is_not_needed_is_told(kafka: SecuredKafka) -> None:
    admin, wanted = kafka.broker.admin_access, list_access_rules("acls.")
    planned = await apply_access_rules(admin, wanted, is_dry_run=True)
    first = await apply_access_rules(admin, wanted)
    second = await apply_access_rules(admin, wanted)
    assert planned.created == first.created == wanted
    assert (second.created, second.unchanged, second.surplus) == ([], wanted, [])
    fewer = await apply_access_rules(admin, [rule for rule in wanted if rule != wanted[0]])
    assert fewer.surplus == ["User:mailroom-webhook-gateway may read topic acls.doc-sources"]


async def test_an_operator_commits_where_a_replay_stands_and_joins_no_group_of_a_process(kafka: SecuredKafka) -> None:
    wanted = list_operator_rules("ops.", "User:scrammed")
    admin = create_admin_client(kafka.broker.admin_access)
    await admin.start()
    await admin.create_topics([NewTopic(f"ops.{NOTIFICATIONS.name}", 1, 1)])
    await admin.close()
    assert (await apply_access_rules(kafka.broker.admin_access, wanted)).created == wanted
    assert (await apply_access_rules(kafka.broker.admin_access, wanted)).created == []
    access = kafka.access_by_password("SCRAM-SHA-512", "scrammed", "scram-password")
    place = TopicPartition(f"ops.{NOTIFICATIONS.name}", 0)
    async with asyncio.timeout(60):
        async with create_consumer(access, group_id=f"ops.{REPLAY_GROUP_PREFIX}one") as consumer:
            consumer.assign([place])
            await consumer.commit({place: 0})
        async with create_consumer(access, group_id=f"ops.{INTAKE_GROUP}") as consumer:
            consumer.assign([place])
            with pytest.raises(KafkaError, match="GroupAuthorizationFailed"):
                await consumer.commit({place: 0})


async def test_rules_of_one_site_reach_no_topic_of_another(kafka: SecuredKafka) -> None:
    await apply_access_rules(kafka.broker.admin_access, list_access_rules("acls."))
    gateway = COMPONENTS[0]
    access = kafka.access_by_password("PLAIN", gateway.default_user, kafka.security.passwords[gateway.default_user])
    topics = [topic.name for topic in list_deployed_topics("other.", 1)]
    assert await find_rights(access, topics, ["other.group"]) == Rights(frozenset(), frozenset(), frozenset())
