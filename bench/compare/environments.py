# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The peers' environments, in the cache. Nothing in them is part of the product or of its tests."""

import functools
import hashlib
import importlib
import os
import pathlib
import shutil
import sys
import time
from typing import Any, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Of the same torch as the package's environment; numpy and what else these take is what they agree on.
PEERS = [
    "torchdata==0.11.0", "safetensors==0.8.0",
    "mosaicml-streaming==0.13.0", "litdata==0.2.76", "webdataset==1.0.2",
    "pylance==14.0.2", "obstore==0.12.1", "boto3==1.44.8",
    "ray==2.60.0", "av==18.1.0",
]
PLOTS = ["matplotlib==3.11.2", "numpy==2.3.5"]


def tool() -> Any:
    """tools/pythonenv.py: its recipe for torch without a GPU, its locks."""
    folder = str(ROOT / "tools")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("pythonenv")


def pins() -> list[str]:
    torch, = (pin for pin in tool().PINS if pin.startswith("torch=="))
    return [torch, *PEERS]


def cached(name: str, what: Sequence[str]) -> pathlib.Path:
    usual = os.environ.get("XDG_CACHE_HOME")
    cache = pathlib.Path(usual) if usual else pathlib.Path.home() / ".cache"
    key = hashlib.sha256("\n".join([*what, tool().key()]).encode()).hexdigest()[:12]
    return cache / f"batchweave-{name}-{key}"


def make_peers(folder: pathlib.Path) -> None:
    """As the package's base is made, in an environment of its own: the peers' numpy is another."""
    env = tool()
    uv = env.base() / "bin" / "uv"
    env.command(sys.executable, "-m", "venv", "--without-pip", folder)
    without = folder / "without.txt"
    excluded = [name for name in env.WITHOUT if name.startswith(("cuda", "nvidia", "triton"))]
    without.write_text("\n".join(excluded) + "\n", encoding="utf-8")
    python = folder / "bin" / "python"
    env.command(uv, "pip", "install", "-q", "--python", python, "--exclude-newer", env.NEWEST, "--excludes", without,
                *pins())
    env.command(python, env.STUB)


def make_plots(folder: pathlib.Path) -> None:
    env = tool()
    env.command(sys.executable, "-m", "venv", folder)
    env.command(folder / "bin" / "python", "-m", "pip", "install", "-q", *PLOTS)


MAKERS = {"peers": (pins, make_peers), "plots": (lambda: PLOTS, make_plots)}


@functools.cache
def python(which: str) -> pathlib.Path:
    """The interpreter of "peers" or "plots", made where it is not there, or of "package": with this tree's."""
    env = tool()
    if which == "package":
        installed: pathlib.Path = env.install()
        return installed / "bin" / "python"
    what, make = MAKERS[which]
    folder = cached(which, what())
    done = folder / "complete"
    if not done.is_file():
        with env.locked(folder.with_suffix(".lock")):
            if not done.is_file():
                began = time.monotonic()
                print(f"bench: making {folder}", file=sys.stderr, flush=True)
                shutil.rmtree(folder, ignore_errors=True)
                make(folder)
                done.touch()
                print(f"bench: made in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return folder / "bin" / "python"


def kafka() -> pathlib.Path:
    """The folder of a broker's jars and of the client's library; bench/peers/kafkainstall.py makes it."""
    folder = str(ROOT / "bench" / "peers")
    if folder not in sys.path:
        sys.path.append(folder)
    installed: pathlib.Path = importlib.import_module("kafkainstall").install()
    return installed
