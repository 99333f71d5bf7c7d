"""Postgres as a pod: TLS only, passwords by SCRAM, data that stays when the pod is killed."""

import secrets
import shutil
from pathlib import Path

from mailroom_cluster.certificates import CertificateAuthority
from mailroom_cluster.kafka_brokers import NAMESPACE
from mailroom_cluster.manifests import Object, build_secret, build_service, build_stateful_set
from mailroom_cluster.standins import BACKENDS_IMAGE

NAME = "postgres"
PORT = 5432
HOST = f"{NAME}.{NAMESPACE}.svc.cluster.local"
DATABASE = "mailroom"
OWNER = "mailroom_owner"
# What Debian's package calls postgres; a server that does not know its own user does not start.
_USER_ID = 100
_GROUP_ID = 102


class PostgresServer:
    def __init__(self, data: Path, authority: CertificateAuthority) -> None:
        self.password = secrets.token_urlsafe(24)
        self._data = data
        self._authority = authority

    @property
    def owner_url(self) -> str:
        return self.build_url(OWNER, self.password)

    def build_url(self, user: str, password: str) -> str:
        return f"postgresql://{user}:{password}@{HOST}:{PORT}/{DATABASE}?sslmode=verify-full"

    def build_objects(self) -> list[Object]:
        self._data.mkdir(parents=True, exist_ok=True)
        shutil.chown(self._data, _USER_ID, _GROUP_ID)
        certificate = self._authority.issue(HOST)
        files = {
            "server.crt": certificate.chain,
            "server.key": certificate.key,
            "password": self.password,
            "pg_hba.conf": "hostssl all all all scram-sha-256\nlocal all all trust\n",
            "start.sh": _START.format(owner=OWNER, database=DATABASE, port=PORT),
        }
        return [
            build_secret(NAMESPACE, f"{NAME}-files", files),
            build_service(NAMESPACE, NAME, PORT),
            build_stateful_set(NAMESPACE, NAME, 1, self._build_pod()),
        ]

    def _build_pod(self) -> Object:
        mounts = [{"name": "files", "mountPath": "/files", "readOnly": True}, {"name": "data", "mountPath": "/data"}]
        return {
            "enableServiceLinks": False,
            "securityContext": {"runAsUser": _USER_ID, "runAsGroup": _GROUP_ID, "fsGroup": _GROUP_ID},
            "containers": [
                {
                    "name": NAME,
                    "image": BACKENDS_IMAGE,
                    "imagePullPolicy": "Never",
                    "command": ["/bin/sh", "/files/start.sh"],
                    "ports": [{"containerPort": PORT}],
                    "volumeMounts": mounts,
                    "resources": {"requests": {"cpu": "50m", "memory": "200Mi"}},
                    "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 2},
                }
            ],
            "volumes": [
                {"name": "files", "secret": {"secretName": f"{NAME}-files", "defaultMode": 0o640}},
                {"name": "data", "hostPath": {"path": str(self._data)}},
            ],
        }


# A folder is made beside and moved into place: half a one can be neither started nor made again.
_START = """
set -eu
bin=$(echo /usr/lib/postgresql/*/bin)
if [ ! -e /data/cluster ]; then
    rm -rf /data/cluster.new
    "$bin/initdb" -D /data/cluster.new -U {owner} --auth=scram-sha-256 --pwfile=/files/password --encoding=UTF8 \\
        --locale=C.UTF-8 --no-sync
    echo 'create database {database};' | "$bin/postgres" --single -D /data/cluster.new postgres
    mv /data/cluster.new /data/cluster
fi
exec "$bin/postgres" -D /data/cluster -c listen_addresses='*' -c port={port} -c unix_socket_directories=/tmp \\
    -c max_connections=300 -c ssl=on -c ssl_cert_file=/files/server.crt -c ssl_key_file=/files/server.key \\
    -c hba_file=/files/pg_hba.conf -c jit=off
"""
