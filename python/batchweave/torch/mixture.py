# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Several namespaces as one stream, by ratio."""

from __future__ import annotations

from fractions import Fraction
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

from ..errors import Invalid
from .loader import VERSION, Loader, Microbatch

Weight = Union[int, float, str, Fraction]


class Mixture:
    """Whole steps of several loaders, interleaved by weight: each next step comes from the source that
    is furthest behind its share. Nothing is drawn by chance, so all ranks take the same, and a state
    is the loaders' states and how many steps each gave.

    `sources`: name to (Loader, weight); the same on all ranks. Weights are exact: 0.1 means one tenth.
    `until`: "first" ends where a source is wanted that has ended, "all" goes on with the others.
    Another set of weights may be given when a state is loaded: shares count from there.
    """

    def __init__(self, sources: Mapping[str, Tuple[Loader, Weight]], until: str = "first") -> None:
        if not sources:
            raise Invalid("a mixture of nothing: give at least one source")
        if until not in ("first", "all"):
            raise Invalid(f"until={until!r}: 'first' or 'all'")
        self.loaders: Dict[str, Loader] = {name: loader for name, (loader, _) in sources.items()}
        self._weights = {name: Fraction(str(weight)) for name, (_, weight) in sources.items()}
        if min(self._weights.values()) <= 0:
            raise Invalid("weights are above 0")
        self._until = until
        self._given = {name: 0 for name in sources}
        self._ended: List[str] = []
        self._current: Optional[str] = None
        self.source = ""

    def _wanted(self) -> str:
        """The source furthest behind its share once one more step is given; of equals the first by name."""
        live = sorted(set(self.loaders) - set(self._ended))
        if not live:
            raise StopIteration
        weight = sum((self._weights[name] for name in live), Fraction(0))
        steps = sum(self._given[name] for name in live) + 1
        return max(live, key=lambda name: self._weights[name] / weight * steps - self._given[name])

    def __iter__(self) -> Mixture:
        return self

    def __next__(self) -> Microbatch:
        """The next microbatch; `source` then names where it comes from. Fails as the Loader does."""
        while True:
            name = self._current if self._current is not None else self._wanted()
            loader = self.loaders[name]
            try:
                microbatch = next(loader)
            except StopIteration:
                if self._until == "first":
                    raise
                self._ended.append(name)
                self._current = None
                continue
            self.source = name
            self._current = None if loader.is_last_microbatch else name
            if self._current is None:
                self._given[name] += 1
            return microbatch

    # ---- state

    def state_dict(self) -> Dict[str, Any]:
        """The same on all ranks; some 200 bytes a source."""
        return {"version": VERSION, "given": dict(self._given), "ended": list(self._ended), "current": self._current,
                "sources": {name: loader.state_dict() for name, loader in self.loaders.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on there. Raises Invalid unless the state is of these sources."""
        given: Any = state
        if not isinstance(given, Mapping) or given.get("version") != VERSION or "given" not in given:
            raise Invalid(f"this is no state of a mixture of version {VERSION}")
        if set(state["sources"]) != set(self.loaders):
            raise Invalid(f"a state of the sources {sorted(state['sources'])}; here are {sorted(self.loaders)}")
        for name, loader in self.loaders.items():
            loader.load_state_dict(state["sources"][name])
        self._given = {name: int(count) for name, count in state["given"].items()}
        self._ended = list(state["ended"])
        self._current = state["current"]

    # ---- as the Loader has it, for the source of the last microbatch

    def __getattr__(self, name: str) -> Any:
        """step, is_last_microbatch, tokens, tag ... of the last microbatch."""
        if name not in ("step", "microbatch", "microbatches", "is_last_microbatch", "tokens", "tag", "pad", "samples"):
            raise AttributeError(name)
        if self.source == "":
            raise Invalid("no microbatch was handed out")
        return getattr(self.loaders[self.source], name)

    def checkpoint(self, id: str) -> Checkpoints:
        """As Loader.checkpoint, in all namespaces."""
        return Checkpoints([loader.checkpoint(id) for loader in self.loaders.values()])

    def commit(self, id: str) -> None:
        """As Loader.commit."""
        for loader in self.loaders.values():
            loader.commit(id)

    def release(self, ids: Sequence[str]) -> None:
        """As Loader.release."""
        for loader in self.loaders.values():
            loader.release(ids)

    def reconcile(self, ids: Sequence[str]) -> int:
        """As Loader.reconcile; pins released in all."""
        return sum(loader.reconcile(ids) for loader in self.loaders.values())

    def metrics(self) -> Dict[str, float]:
        """The loaders' numbers, e.g. data/code/lag_steps."""
        return {key.replace("data/", f"data/{name}/"): value
                for name, loader in self.loaders.items() for key, value in loader.metrics().items()}

    def close(self) -> None:
        """Closes all loaders."""
        for loader in self.loaders.values():
            loader.close()

    def __enter__(self) -> Mixture:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class Checkpoints:
    """One save of a mixture: a Checkpoint in each namespace."""

    def __init__(self, each: Sequence[Any]) -> None:
        self._each = list(each)

    def attach(self, future: Any) -> None:
        """As Checkpoint.attach."""
        for checkpoint in self._each:
            checkpoint.attach(future)

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        for checkpoint in self._each:
            checkpoint.__exit__(kind, value, trace)
