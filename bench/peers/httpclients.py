# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of a request in the clients that Python has for object stores: signed ranged GETs and PUTs of 100 KB,
16 at once, against a test store. `client`: "boto3" (16 threads), "obstore" (its asynchronous calls, 16 tasks).

PUTs do not hash the body into the signature where the client has a setting for it (obstore), as over TLS; boto3 hashes
it over plain HTTP in any case. Keys are made up: the test store was given none to compare with.
"""

import asyncio
import concurrent.futures
import importlib
import importlib.metadata
import os
from typing import Any, Awaitable, Callable, Iterator

import side

BYTES, DEPTH = 100 * 1024, 16
BUCKET, KEY = "bkt", "data/object"
KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true"}


class Boto3:
    def __init__(self, port: int) -> None:
        os.environ.update(KEYS)
        boto3 = importlib.import_module("boto3")
        config = importlib.import_module("botocore.config").Config(
            max_pool_connections=DEPTH, retries={"max_attempts": 1}, s3={"addressing_style": "path"})
        self.client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", config=config)
        self.body = bytes(BYTES)

    def put(self, _number: int) -> None:
        self.client.put_object(Bucket=BUCKET, Key=KEY, Body=self.body)

    def get(self, _number: int) -> None:
        answer = self.client.get_object(Bucket=BUCKET, Key=KEY, Range=f"bytes=0-{BYTES - 1}")
        if len(answer["Body"].read()) != BYTES:
            raise RuntimeError("too few bytes")

    def run(self, work: Callable[[int], None], count: int) -> None:
        with concurrent.futures.ThreadPoolExecutor(DEPTH) as threads:
            for _ in threads.map(work, range(count)):
                pass

    def settings(self) -> dict[str, Any]:
        return {"boto3": importlib.metadata.version("boto3"), "threads": DEPTH, "retries": 0, "style": "path"}


class Obstore:
    def __init__(self, port: int) -> None:
        self.obstore = importlib.import_module("obstore")
        stores = importlib.import_module("obstore.store")
        self.store = stores.S3Store(
            BUCKET, endpoint=f"http://127.0.0.1:{port}", region="us-east-1", access_key_id="bench",
            secret_access_key="bench", virtual_hosted_style_request=False, unsigned_payload=True,
            client_options={"allow_http": True})
        self.body = bytes(BYTES)

    async def put(self, _number: int) -> None:
        await self.obstore.put_async(self.store, KEY, self.body, use_multipart=False)

    async def get(self, _number: int) -> None:
        if len(await self.obstore.get_range_async(self.store, KEY, start=0, end=BYTES)) != BYTES:
            raise RuntimeError("too few bytes")

    def run(self, work: Callable[[int], Awaitable[None]], count: int) -> None:
        asyncio.run(self._tasks(work, iter(range(count))))

    async def _tasks(self, work: Callable[[int], Awaitable[None]], numbers: Iterator[int]) -> None:
        async def one() -> None:
            for number in numbers:
                await work(number)
        await asyncio.gather(*(one() for _ in range(DEPTH)))

    def settings(self) -> dict[str, Any]:
        return {"obstore": importlib.metadata.version("obstore"), "tasks": DEPTH, "unsigned_payload": True,
                "style": "path"}


def measure(plan: dict[str, Any]) -> dict[str, Any]:
    client: Any = {"boto3": Boto3, "obstore": Obstore}[plan["client"]](plan["port"])
    figures = {}
    # The object, and every connection, is there before the clock starts.
    for work, name in ((client.put, "put"), (client.get, "get")):
        client.run(work, 2 * DEPTH)
        with side.Meter() as meter:
            client.run(work, plan["requests"])
        figures[f"{name}_us"] = meter.cpu_s / plan["requests"] * 1e6
        figures[f"{name}_per_s"] = plan["requests"] / meter.wall_s
    return side.row(figures, settings=client.settings())


if __name__ == "__main__":
    side.main(measure)
