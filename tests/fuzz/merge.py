#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the corpora in tests/fuzz/corpus the smallest that reach what they and FOLDER/TARGET reach.

    merge.py BUILD FOLDER

The seeds (tests/fuzz/seeds.py) are merged first, so they stay. Inputs above a size are left out:
the corpora are part of the tree.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

from run import CORPUS, HERE, targets

INPUT_BYTES_MAX = 2048


def merge(name, program, grown, scratch):
    out, taken = scratch / "out" / name, scratch / "in" / name
    out.mkdir(parents=True)
    taken.mkdir(parents=True)
    for path in [*(CORPUS / name).glob("*"), *(grown / name).glob("*")]:
        if path.stat().st_size <= INPUT_BYTES_MAX:
            shutil.copyfile(path, taken / hashlib.sha256(path.read_bytes()).hexdigest()[:16])
    # The engine copies inputs in the order of their size, each that reaches a new place; how often
    # a place is reached would make the corpora many times larger.
    subprocess.run([str(program), "-merge=1", "-use_counters=0", str(out), str(scratch / "seeds" / name), str(taken)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(CORPUS / name, ignore_errors=True)
    (CORPUS / name).mkdir(parents=True)
    for path in [*out.glob("*"), *(scratch / "seeds" / name).glob("*")]:
        data = path.read_bytes()
        (CORPUS / name / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    sizes = [path.stat().st_size for path in (CORPUS / name).glob("*")]
    print(f"{name:10} {len(sizes):5} inputs {sum(sizes):8} bytes")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="batchweave-fuzz-") as scratch:
        scratch = pathlib.Path(scratch)
        subprocess.run([sys.executable, str(HERE / "seeds.py"), str(scratch / "seeds")], check=True)
        for name, program in targets(pathlib.Path(sys.argv[1])).items():
            merge(name, program, pathlib.Path(sys.argv[2]), scratch)


if __name__ == "__main__":
    main()
