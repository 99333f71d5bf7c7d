"""Three Kafka brokers as pods: SASL_SSL with SCRAM, ACLs that refuse what is not listed, data that stays."""

import base64
import secrets
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from mailroom_cluster.certificates import CertificateAuthority
from mailroom_cluster.manifests import Object, build_secret, build_service, build_stateful_set
from mailroom_cluster.standins import BACKENDS_IMAGE, JAR_FOLDER

BROKERS = 3
NAMESPACE = "backends"
NAME = "kafka"
PORT = 9093
ADMIN = "admin"
MECHANISM = "SCRAM-SHA-512"
_CONTROLLER_PORT = 9094
_DOMAIN = f"{NAME}.{NAMESPACE}.svc.cluster.local"
_HOSTS = [f"{NAME}-{number}.{_DOMAIN}" for number in range(BROKERS)]
_USER_ID = 10002
BOOTSTRAP = ",".join(f"{host}:{PORT}" for host in _HOSTS)


class KafkaBrokers:
    """`passwords` holds one for each user; the administrator is the brokers' own name. Superusers need no ACL."""

    def __init__(
        self, users: Iterable[str], superusers: Iterable[str], data: Path, authority: CertificateAuthority
    ) -> None:
        self.passwords = {user: secrets.token_urlsafe(24) for user in (ADMIN, *users)}
        self._superusers = ";".join(f"User:{user}" for user in (ADMIN, *superusers))
        self._data = data
        self._authority = authority

    def build_objects(self) -> list[Object]:
        self._create_data_folders()
        certificate = self._authority.issue(*_HOSTS)
        keys = {"chain.pem": certificate.chain, "keystore.pem": certificate.both, "ca.pem": self._authority.bundle_pem}
        files = {"server.properties": self._build_properties(), "log4j2.properties": _LOGGING}
        script = {"start.sh": self._build_start_script()}
        return [
            build_secret(NAMESPACE, f"{NAME}-files", {**keys, **files, **script}),
            build_service(NAMESPACE, NAME, PORT, is_headless=True),
            build_stateful_set(NAMESPACE, NAME, BROKERS, self._build_pod()),
        ]

    def _create_data_folders(self) -> None:
        self._data.mkdir(parents=True, exist_ok=True)
        shutil.chown(self._data, _USER_ID, _USER_ID)

    def _build_pod(self) -> Object:
        mounts = [{"name": "files", "mountPath": "/files", "readOnly": True}, {"name": "data", "mountPath": "/data"}]
        return {
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 30,
            "securityContext": {"runAsUser": _USER_ID, "runAsGroup": _USER_ID, "fsGroup": _USER_ID},
            "containers": [
                {
                    "name": NAME,
                    "image": BACKENDS_IMAGE,
                    "imagePullPolicy": "Never",
                    "command": ["/bin/sh", "/files/start.sh"],
                    "ports": [{"containerPort": PORT}],
                    "volumeMounts": mounts,
                    "resources": {"requests": {"cpu": "150m", "memory": "400Mi"}, "limits": {"memory": "1200Mi"}},
                    "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 2},
                }
            ],
            # A folder of the node, so that a broker whose pod is killed comes back with what it has acknowledged.
            "volumes": [
                {"name": "files", "secret": {"secretName": f"{NAME}-files"}},
                {"name": "data", "hostPath": {"path": str(self._data)}},
            ],
        }

    def _build_start_script(self) -> str:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)
        users = " ".join(
            f'--add-scram \'{MECHANISM}=[name="{user}",password="{password}"]\''
            for user, password in self.passwords.items()
        )
        return _START.format(jars=JAR_FOLDER, cluster=cluster, users=users)

    def _build_properties(self) -> str:
        voters = ",".join(f"{number}@{host}:{_CONTROLLER_PORT}" for number, host in enumerate(_HOSTS))
        password = self.passwords[ADMIN]
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        login = f'{plain} username="{ADMIN}" password="{password}" user_{ADMIN}="{password}";'
        return _PROPERTIES.format(
            voters=voters,
            port=PORT,
            controller_port=_CONTROLLER_PORT,
            domain=_DOMAIN,
            login=login,
            superusers=self._superusers,
        )


# The number of the pod is the number of the broker.
_START = """
set -eu
number=${{HOSTNAME##*-}}
mkdir -p "/data/$number"
cd "/data/$number"
sed "s/@NUMBER@/$number/g" /files/server.properties > server.properties
run() {{
    heap=$1
    shift
    tuning="-XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1"
    $replace java "-Xmx$heap" $tuning -Djava.awt.headless=true -Dlog4j2.configurationFile=/files/log4j2.properties \\
        -cp '{jars}/*' "$@"
}}
replace=
[ -e logs/meta.properties ] || run 128m kafka.tools.StorageTool format -t {cluster} -c server.properties {users}
replace=exec
run 512m kafka.Kafka server.properties
"""

# Clients and brokers share a listener; what the brokers say among themselves goes by PLAIN over TLS, since SCRAM's
# credentials lie in the very records that they have to exchange first.
_PROPERTIES = """
process.roles=broker,controller
node.id=@NUMBER@
controller.quorum.voters={voters}
listeners=CLIENTS://:{port},CONTROLLER://:{controller_port}
advertised.listeners=CLIENTS://kafka-@NUMBER@.{domain}:{port}
listener.security.protocol.map=CLIENTS:SASL_SSL,CONTROLLER:SASL_SSL
inter.broker.listener.name=CLIENTS
controller.listener.names=CONTROLLER
log.dirs=logs

ssl.keystore.type=PEM
ssl.keystore.location=/files/keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location=/files/ca.pem

sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.mechanism.controller.protocol=PLAIN
listener.name.clients.plain.sasl.jaas.config={login}
listener.name.controller.plain.sasl.jaas.config={login}
listener.name.clients.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.controller.sasl.enabled.mechanisms=PLAIN

authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users={superusers}
allow.everyone.if.no.acl.found=false

auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
offsets.topic.num.partitions=6
offsets.topic.replication.factor=3
transaction.state.log.num.partitions=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=2
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
num.network.threads=2
num.io.threads=2
num.replica.fetchers=1
log.cleaner.dedupe.buffer.size=8388608
log.index.size.max.bytes=262144
"""

_LOGGING = """
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %c %m%n
"""
