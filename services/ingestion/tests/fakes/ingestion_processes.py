"""Ingestion's processes, run inside the test on ports of their own."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx

from ingestion.app import api, worker
from ingestion.settings import DocumentsAPISettings, WorkerSettings
from mailroom_common.process import Process

KEYS = {"acme": "key-of-acme", "other": "key-of-other"}


def _build_key(key: str, role: str) -> str:
    return key if role == "viewer" else f"{key}-{role}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def api_settings(database_url: str, blobs: Path, **changed: Any) -> DocumentsAPISettings:
    keys = ",".join(
        f"{tenant}:{role}:{sha256(_build_key(key, role).encode()).hexdigest()}"
        for tenant, key in KEYS.items()
        for role in ("viewer", "operator")
    )
    usual: dict[str, Any] = {
        "http_port": free_port(),
        "database_url": database_url,
        "blob_url": f"file://{blobs}",
        "api_keys": keys,
        "event_heartbeat_s": 0.5,
    }
    return DocumentsAPISettings(**{**usual, **changed})


def worker_settings(database_url: str, blobs: Path, kafka: str, prefix: str, **changed: Any) -> WorkerSettings:
    usual: dict[str, Any] = {
        "http_port": free_port(),
        "database_url": database_url,
        "blob_url": f"file://{blobs}",
        "kafka_bootstrap": kafka,
        "kafka_replication": 1,
        "topic_prefix": prefix,
        "parser_processes": 1,
    }
    return WorkerSettings(**{**usual, **changed})


@asynccontextmanager
async def running_api(settings: DocumentsAPISettings) -> AsyncIterator[str]:
    """The API's address, once it answers."""
    async with _run_until_stopped(api.run(settings, process := Process("ingestion_api")), process):
        url = f"http://127.0.0.1:{settings.http_port}"
        await _wait_until_ready(url)
        yield url


@asynccontextmanager
async def running_worker(settings: WorkerSettings) -> AsyncIterator[None]:
    async with _run_until_stopped(worker.run(settings, process := Process("ingestion_worker")), process):
        await _wait_until_ready(f"http://127.0.0.1:{settings.http_port}")
        yield


@asynccontextmanager
async def _run_until_stopped(work: Any, process: Process) -> AsyncIterator[None]:
    running = asyncio.create_task(work)
    try:
        yield
    finally:
        process.stopping.set()
        await asyncio.wait_for(running, 20)


async def _wait_until_ready(url: str) -> None:
    async with httpx.AsyncClient() as client, asyncio.timeout(30):
        while True:
            try:
                if (await client.get(f"{url}/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                pass  # not listening yet
            await asyncio.sleep(0.05)


def as_tenant(tenant: str, role: str = "viewer") -> dict[str, str]:
    return {"Authorization": f"Bearer {_build_key(KEYS[tenant], role)}"}
