# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""One rank of a tensor-parallel group reads, the others get its bytes: two broadcasts an item, of a
head (what it is, as JSON) and of the bytes. What the leader fails with, all fail with."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional, Tuple

import torch
import torch.distributed

from ..errors import Error, FatalError, Invalid, exception_of
from .mesh import wire_device

HEAD_BYTES = 4096
Received = Tuple[Tuple[int, int, int, int, int, bool], str, torch.Tensor, str]


class Team:
    """The ranks of one tensor-parallel group. `leads`: this one reads."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self._source = torch.distributed.get_global_rank(group, 0)
        self.leads = torch.distributed.get_rank(group) == 0
        self._wire = wire_device(group)

    def _head(self, told: Optional[Dict[str, Any]]) -> Dict[str, Any]:
        text = b"" if told is None else json.dumps(told).encode()
        if len(text) > HEAD_BYTES:
            # A cursor with many skips: it travels by itself.
            assert told is not None
            told = {**told, "after": "", "long": len(told["after"].encode())}
            rest, text = json.loads(text)["after"].encode(), json.dumps(told).encode()
        else:
            rest = b""
        head = torch.zeros(HEAD_BYTES, dtype=torch.uint8)
        head[:len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8) if text else head[:0]
        told = json.loads(bytes(self._broadcast(head).numpy()).rstrip(b"\0"))
        if told.get("long"):
            tail = torch.frombuffer(bytearray(rest), dtype=torch.uint8) if rest else torch.empty(
                told["long"], dtype=torch.uint8)
            told["after"] = bytes(self._broadcast(tail).numpy()).decode()
        return told

    def _broadcast(self, tensor: torch.Tensor) -> torch.Tensor:
        """In main memory again."""
        sent = tensor.to(self._wire)
        torch.distributed.broadcast(sent, src=self._source, group=self._group)
        return sent.cpu()

    def agree(self, cursor: Optional[str]) -> str:
        """The leader's cursor, on all."""
        told = self._head({"after": cursor} if self.leads else None)
        if "code" in told:
            raise _failure(told)
        return str(told["after"])

    def send(self, about: Tuple[int, int, int, int, int, bool], item: Any, after: str) -> Received:
        """What the others then receive; `after`: the cursor behind the item."""
        self._head({"about": about, "kind": item.kind, "bytes": len(item), "after": after})
        data = item.torch()
        if len(item) > 0:
            torch.distributed.broadcast(data.to(self._wire), src=self._source, group=self._group)
        return about, item.kind, data, after

    def send_failure(self, error: BaseException) -> None:
        """Tells the others that there is no item."""
        said = str(error)[:1000]
        self._head({"code": error.code if isinstance(error, Error) else type(error).__name__, "message": said,
                    "key": getattr(error, "key", "")[:500], "step": getattr(error, "step", None), "after": ""})

    def receive(self) -> Received:
        """What the leader sent. Raises what it failed with."""
        told = self._head(None)
        if "code" in told:
            raise _failure(told)
        data = torch.empty(told["bytes"], dtype=torch.uint8, device=self._wire)
        if told["bytes"] > 0:
            torch.distributed.broadcast(data, src=self._source, group=self._group)
        step, microbatch, microbatches, tokens, tag, pad = told["about"]
        return (step, microbatch, microbatches, tokens, tag, pad), told["kind"], data.cpu(), told["after"]


def _failure(told: Dict[str, Any]) -> Error:
    step = told["step"]
    error = exception_of(told["code"], f"the tensor-parallel leader: {told['message']}", told["key"],
                         -1 if step is None else step, 0)
    if type(error) is Error:
        return FatalError(f"the tensor-parallel leader ended with {told['code']}: {told['message']}")
    return error


def team(mesh: Any, group: Any) -> Team:
    """Of the mesh's axis tp, or of the process group given."""
    if group is None and mesh is not None and "tp" in (mesh.mesh_dim_names or ()):
        group = mesh.get_group("tp")
    if group is None:
        raise Invalid("readers='tp_leader' wants a DeviceMesh with an axis tp, or tp_group")
    return Team(group)


