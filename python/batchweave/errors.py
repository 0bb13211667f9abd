# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, by type: one class a status code, below one a class of codes.

The classes of codes say what to do: `UsageError` fix the call; `WaitError` nothing is wrong, call
again; `StateError` the namespace says no, for good unless its state changes; `StoreError` look at
the store, then call again; `DataError` run `batchweave verify`; `FatalError` this handle is
finished, open a new one. `batchweave errors CODE` explains each code at length.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Type


class Error(Exception):
    """Of every call into the library.

    `code`: name of the status, e.g. "TRIMMED". `key`: the object worked on, "" for none. `step`:
    the step worked on, or None. `attempts`: requests made before giving up, 0 for none.
    """

    code = "BUG"

    def __init__(self, message: str, *, code: Optional[str] = None, key: str = "",
                 step: Optional[int] = None, attempts: int = 0) -> None:
        super().__init__(message)
        self.code = code if code is not None else type(self).code
        self.key = key
        self.step = step
        self.attempts = attempts

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (type(self), self.args[0], self.code, self.key, self.step, self.attempts)


def _again(kind: Type[Error], message: str, code: str, key: str, step: Optional[int],
           attempts: int) -> Error:
    return kind(message, code=code, key=key, step=step, attempts=attempts)


class UsageError(Error):
    """The call or its arguments are wrong: fix the caller."""


class WaitError(Error):
    """Nothing is wrong, it is not there yet, or not in time: call again."""


class StateError(Error):
    """The namespace says no, for good unless its state changes: read the message."""


class StoreError(Error):
    """The object store failed or refused: look at the store, then call again."""


class DataError(Error):
    """Stored bytes are not what they must be: run `batchweave verify`."""


class FatalError(Error):
    """This handle is finished: close it and open a new one."""


class Invalid(UsageError, ValueError):
    """An argument or option is not valid."""

    code = "INVALID"


class OutOfMemory(FatalError, MemoryError):
    """Out of memory."""

    code = "NOMEM"


class Interrupted(WaitError):
    """The wait was interrupted."""

    code = "INTERRUPTED"


class Timeout(WaitError, TimeoutError):
    """The time limit passed."""

    code = "TIMEOUT"


class Forked(UsageError):
    """The handle belongs to another process."""

    code = "FORKED"


class Failed(FatalError):
    """The handle failed earlier."""

    code = "FAILED"


class Unsupported(UsageError):
    """Not supported."""

    code = "UNSUPPORTED"


class Bug(FatalError):
    """An internal rule was broken."""

    code = "BUG"


class TooLarge(UsageError):
    """Larger than a limit of the format or the namespace."""

    code = "TOO_LARGE"


class NoNamespace(StateError):
    """There is no namespace at this place."""

    code = "NO_NAMESPACE"


class NotReady(WaitError):
    """The namespace is not fully initialised yet."""

    code = "NOT_READY"


class NotEmpty(StateError):
    """The place for a new namespace is not empty."""

    code = "NOT_EMPTY"


class Denied(StoreError, PermissionError):
    """The store denied access."""

    code = "DENIED"


class StoreFailed(StoreError):
    """The store failed."""

    code = "IO"


class NoSpace(StoreError):
    """The store has no room left."""

    code = "NO_SPACE"


class StoreUnsafe(StoreError):
    """The store breaks a promise that commits rest on."""

    code = "STORE_UNSAFE"


class NotFound(StateError):
    """There is no such object."""

    code = "NOT_FOUND"


class ReadOnly(UsageError):
    """The namespace was opened for reading only."""

    code = "READ_ONLY"


class Corrupt(DataError):
    """Stored bytes are damaged."""

    code = "CORRUPT"


class Format(DataError):
    """The object needs a newer reader or is of another kind."""

    code = "FORMAT"


class ChainBlocked(DataError):
    """A foreign or damaged object stands in the way of the chain."""

    code = "CHAIN_BLOCKED"


class WrongNamespace(DataError):
    """The object belongs to another namespace."""

    code = "WRONG_NAMESPACE"


class ManifestFull(StateError):
    """The manifest would grow beyond its hard cap."""

    code = "MANIFEST_FULL"


class Fenced(FatalError):
    """A newer incarnation took over."""

    code = "FENCED"


class Unknown(WaitError):
    """The outcome of the last commit is not known yet."""

    code = "UNKNOWN"


class Sealed(StateError):
    """The namespace is sealed."""

    code = "SEALED"


class Finished(StateError):
    """The producer has finished."""

    code = "FINISHED"


class SealRefused(StateError):
    """Producers have not finished."""

    code = "SEAL_REFUSED"


class Blocked(WaitError):
    """Producers stand at a limit of the namespace."""

    code = "BLOCKED"


class UnsetItem(UsageError):
    """A batch has an item that was never set."""

    code = "UNSET_ITEM"


class EndOfData(StateError):
    """The end of a sealed namespace."""

    code = "END"


class Starved(WaitError, TimeoutError):
    """No batch became available in time."""

    code = "STARVED"


class Trimmed(StateError):
    """The step is no longer retained."""

    code = "TRIMMED"


class BeyondEnd(StateError):
    """The step lies beyond the end of the chain."""

    code = "BEYOND_END"


class CursorForeign(StateError):
    """The cursor belongs to another namespace."""

    code = "CURSOR_FOREIGN"


class CursorInvalid(UsageError):
    """The cursor is malformed."""

    code = "CURSOR_INVALID"


class CursorRewritten(DataError):
    """The history behind the cursor is not the one it read."""

    code = "CURSOR_REWRITTEN"


class MeshMismatch(UsageError):
    """The mesh of the job does not fit the namespace."""

    code = "MESH_MISMATCH"


class RanksDisagree(StateError):
    """Ranks of one job start from different cursors."""

    code = "RANKS_DISAGREE"


class LaunchReused(StateError):
    """The launch id was used before with another cursor."""

    code = "LAUNCH_REUSED"


class GroupGone(StateError):
    """The group was removed."""

    code = "GROUP_GONE"


class PinExists(StateError):
    """The pin exists with another cursor."""

    code = "PIN_EXISTS"


class PinsFull(StateError):
    """The group or the namespace holds all the pins it may."""

    code = "PINS_FULL"


class InputBad(DataError):
    """An input record is damaged."""

    code = "INPUT_BAD"


class InputChanged(StateError):
    """The input is not the one the producer started with."""

    code = "INPUT_CHANGED"


class ChildFailed(StoreError):
    """The child process failed."""

    code = "CHILD_FAILED"


class Unclean(DataError):
    """Verification found faults."""

    code = "UNCLEAN"


class StateMissing(UsageError):
    """The group has checkpoints, and the loader was given no state. Of this package alone."""

    code = "STATE_MISSING"


BY_CODE: Dict[str, Type[Error]] = {
    kind.code: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Error) and "code" in vars(kind) and kind is not Error
}


def exception_of(code: str, message: str, key: str, step: int, attempts: int) -> Error:
    """The exception of a status; called by the extension. `step` below 0: none."""
    kind = BY_CODE.get(code, Error)
    return kind(message, code=code, key=key, step=None if step < 0 else step, attempts=attempts)
