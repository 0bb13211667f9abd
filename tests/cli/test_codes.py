# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Every error code that a command line can meet is provoked by one, and ends with its class's exit code."""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from harness import frame

# Codes that no command line can provoke at will, each with the reason. A code may only stand here or below.
NOT_BY_COMMAND = {
    "OK": "no error",
    "NOMEM": "needs a failing allocator",
    "FORKED": "the command line does not fork with open handles",
    "FAILED": "the first error is reported instead",
    "BUG": "would be a defect",
    "STORE_UNSAFE": "needs a store that breaks its promises",
    "READ_ONLY": "each command opens as it needs",
    "MANIFEST_FULL": "needs some hundred thousand producers",
    "UNKNOWN": "needs a store that does not answer",
    "UNSET_ITEM": "produce sets every slot",
    "END": "is exit 0 of consume",
    "FINISHED": "is exit 0 of produce",
}


class Codes(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.provoke = {name[5:].upper(): getattr(self, name) for name in dir(self) if name.startswith("code_")}

    def test_every_code(self):
        codes = {line["code"]: line for line in self.json_lines("errors")}
        self.assertEqual(set(codes), set(self.provoke) | set(NOT_BY_COMMAND))
        self.assertFalse(set(self.provoke) & set(NOT_BY_COMMAND))

    def check(self, code, words, expect=None, **more):
        if expect is None:
            expect = next(line for line in self.json_lines("errors", code))["exit"]
        result = self.run_cli(*words, expect=expect, **more)
        self.assert_code(result, code)
        return result

    def published(self, count=4):
        self.init(1)
        self.produce_frames([f"{k}".encode() * 100 for k in range(count)])

    def part(self):
        return sorted((self.space / "data").rglob("*.000000"))[0]

    def damage(self, path, at=-1):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        os.chmod(path, 0o600)
        path.write_bytes(data)

    def manifests(self):
        return sorted((self.space / "manifest").iterdir())

    def code_invalid(self):
        self.check("INVALID", ["info"])

    def code_interrupted(self):
        self.init(1)
        process = self.start("consume", self.url, "--world", 1)
        self.wait_for("its threads", lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 1)
        process.send_signal(signal.SIGINT)
        self.assert_code(self.finish(process, 130), "INTERRUPTED")

    def code_timeout(self):
        self.init(1)
        self.check("TIMEOUT", ["info", self.url, "--timeout", 0])

    def code_unsupported(self):
        self.init(1)
        self.check("UNSUPPORTED", ["info", "gopher://host/x"])

    def code_too_large(self):
        self.init(1, 1, "--max-bytes", "10KiB")
        path = self.write_frames("f", [b"x" * 20000])
        self.check("TOO_LARGE", ["produce", self.url, "--id", "p", f"frames:{path}"])

    def code_no_namespace(self):
        self.check("NO_NAMESPACE", ["info", self.url])
        self.space.mkdir()
        self.assertIn("batchweave init makes one", self.check("NO_NAMESPACE", ["info", self.url]).err)

    def code_not_ready(self):
        self.init(1)
        self.manifests()[0].unlink()
        self.check("NOT_READY", ["info", self.url])
        self.produce_frames([b"x"])  # an opener for writing finishes the init

    def code_not_empty(self):
        self.init(1)
        self.produce_frames([b"x"])
        self.assertIn("a namespace is here already", self.check("NOT_EMPTY", ["init", self.url, "--dp", 1]).err)
        self.check("NOT_EMPTY", ["init", f"file://{self.folder}", "--dp", 1])

    def code_denied(self):
        self.published()
        (self.space / "genesis").chmod(0)
        self.check("DENIED", ["info", self.url], bound=True)

    def code_io(self):
        self.published()
        (self.folder / "file").write_text("")
        self.check("IO", ["consume", self.url, "--world", 1, "--steps", 1, "--out", "file/x"])

    def code_no_space(self):
        self.init(1)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.BINARY, "info", self.url], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertTrue(done.stderr.endswith(b"[NO_SPACE]\n"))

    def code_not_found(self):
        self.init(1)
        self.check("NOT_FOUND", ["inspect", self.url, "manifest/00000000000000000099.manifest"])

    def code_corrupt(self):
        self.published(1)
        self.damage(self.part(), 70 + 64)
        key = str(self.part().relative_to(self.space))
        for words in (["get", self.url, 0], ["consume", self.url, "--world", 1, "--steps", 1]):
            self.assertIn(f"; at {key} (", self.check("CORRUPT", words).err)
            error = json.loads(self.run_cli(*words, "-o", "json", expect=5).err)["error"]
            self.assertEqual((error["key"], error["step"]), (key, 0))

    def code_format(self):
        self.init(1)
        (self.space / "page").mkdir()
        key = f"page/{1:020}-0123456789abcdef"
        shutil.copy(self.manifests()[0], self.space / key)
        self.check("FORMAT", ["inspect", self.url, key])

    def code_chain_blocked(self):
        self.published()
        newest = self.manifests()[-1]
        (newest.parent / f"{int(newest.name[:20]) + 1:020}.manifest").write_bytes(b"foreign")
        self.check("CHAIN_BLOCKED", ["produce", self.url, "--id", "q", f"frames:{self.folder / 'p.frames'}"])
        # What a person needs next must work: the object's own state, and the list.
        self.check("CORRUPT", ["inspect", self.url, f"manifest/{int(newest.name[:20]) + 1:020}.manifest"])
        self.run_cli("inspect", self.url, "genesis")
        self.assertIn(b"manifest/", self.run_cli("inspect", self.url, "--prefix", "manifest/").out)
        self.refused("CHAIN_BLOCKED", "inspect", self.url, "--first", 0)
        result = self.check("CHAIN_BLOCKED", ["consume", self.url, "--world", 1])
        self.assertIn(f"manifest/{int(newest.name[:20]) + 1:020}.manifest", result.err)

    def code_wrong_namespace(self):
        ours = self.folded()
        self.space, self.url = self.folder / "other", f"file://{self.folder}/other"
        theirs = self.folded()
        os.chmod(theirs, 0o600)
        shutil.copy(ours, theirs)
        self.check("WRONG_NAMESPACE", ["get", self.url, 0])

    def folded(self):
        """The segment of the first steps of a namespace with a tiny tail."""
        self.init(1, 1, "--tail-cap", 64)
        for k in range(4):
            self.produce_frames([b"x"] * 4, f"p{k}")
        return sorted((self.space / "segment").iterdir())[0]

    def code_fenced(self):
        self.init(1)
        words = ["produce", self.url, "--id", "p", "frames:-"]
        zombie = self.start(*words, stdin=subprocess.PIPE)
        self.wait_for("its open", lambda: len(self.manifests()) > 1)
        self.run_cli(*words, input=frame(b"a"))
        result = self.finish(zombie, 6, frame(b"a") + frame(b"b"))
        self.assert_code(result, "FENCED")

    def code_sealed(self):
        self.published()
        self.run_cli("seal", self.url)
        self.run_cli("seal", self.url)
        self.check("SEALED", ["produce", self.url, "--id", "q", f"frames:{self.folder / 'p.frames'}"])

    def code_seal_refused(self):
        self.init(1)
        path = self.write_frames("f", [b"x"])
        with open(path, "ab") as file:
            file.write(b"cut")
        self.run_cli("produce", self.url, "--id", "p", f"frames:{path}", expect=5)
        self.check("SEAL_REFUSED", ["seal", self.url])
        self.run_cli("seal", self.url, "--force")

    def code_starved(self):
        self.init(1)
        self.check("STARVED", ["consume", self.url, "--world", 1, "--timeout", "100ms"])

    def code_beyond_end(self):
        self.published()
        self.check("BEYOND_END", ["get", self.url, 1000])

    def cursor(self, **changes):
        self.published()
        self.run_cli("consume", self.url, "--world", 1, "--steps", 2, "--cursor", "c")
        path = self.folder / "c"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        return ["consume", self.url, "--world", 1, "--cursor", "c", "--steps", 1]

    def code_cursor_foreign(self):
        self.check("CURSOR_FOREIGN", self.cursor(namespace="f" * 32))

    def code_cursor_invalid(self):
        self.check("CURSOR_INVALID", self.cursor(step=-1))

    def code_cursor_rewritten(self):
        self.check("CURSOR_REWRITTEN", self.cursor(nonce="0" * 15 + "1"))

    def code_mesh_mismatch(self):
        self.init(2)
        self.check("MESH_MISMATCH", ["consume", self.url, "--world", 3])

    def code_input_bad(self):
        self.init(1)
        self.check("INPUT_BAD", ["produce", self.url, "--id", "p", "text:absent"])
        (self.folder / "loop").symlink_to(".")
        self.check("INPUT_BAD", ["produce", self.url, "--id", "p", f"text:{self.folder}"])

    def code_input_changed(self):
        self.init(1)
        (self.folder / "f").write_bytes(frame(b"x") + b"cut")
        self.run_cli("produce", self.url, "--id", "p", "frames:f", expect=5)
        (self.folder / "f").write_bytes(frame(b"x") + frame(b"y"))
        self.check("INPUT_CHANGED", ["produce", self.url, "--id", "p", "frames:f"])

    def code_child_failed(self):
        self.init(1)
        self.check("CHILD_FAILED", ["produce", self.url, "--id", "p", "--exec", f"{sys.executable} -c 'exit(4)'"])

    def job(self, *more):
        """The words of a job of two ranks, rank 0 of which plays checkpoints."""
        return ["consume", self.url, "--world", 2, "--group", "train", *more]

    def trained(self, *limits):
        """Four steps of two slices, a job that pinned step 2 and no other, and its cursor."""
        self.init(2, 1, *limits)
        self.produce_frames([f"{k}".encode() * 100 for k in range(8)])
        self.run_cli(*self.job("--steps", 3, "--pin-every", 2, "--launch", "A", "--cursor", self.folder / "at3"))

    def pin(self, id):
        return ["pin", self.url, "train", id, "--cursor", self.folder / "at3"]

    def code_blocked(self):
        self.trained("--max-lag", 2)
        self.check("BLOCKED", ["produce", self.url, "--id", "q", "--timeout", "500ms",
                               f"frames:{self.write_frames('more', [b'x'] * 2)}"])

    def code_trimmed(self):
        self.trained()
        self.check("TRIMMED", self.job("--from", 1, "--steps", 1))

    def code_ranks_disagree(self):
        self.trained()
        self.run_cli(*self.job("--rank", 0, "--launch", "B", "--from", 2, "--steps", 1))
        self.check("RANKS_DISAGREE", self.job("--rank", 1, "--launch", "B", "--from", 3, "--steps", 1))

    def code_launch_reused(self):
        self.trained()
        self.check("LAUNCH_REUSED", self.job("--launch", "A", "--steps", 1))

    def code_group_gone(self):
        self.trained()
        self.check("GROUP_GONE", ["group", "rm", self.url, "nobody"])

    def code_pin_exists(self):
        self.trained()
        self.check("PIN_EXISTS", self.pin("step-" + "2".zfill(20)))

    def code_pins_full(self):
        self.trained()
        for k in range(63):  # one is there
            self.run_cli(*self.pin(f"best-{k}"))
        self.check("PINS_FULL", self.pin("one too many"))

    def code_unclean(self):
        self.published()
        self.run_cli("verify", self.url, "--deep")
        self.damage(self.part(), 70 + 64)
        self.assertIn(" 1 finding ", self.check("UNCLEAN", ["verify", self.url, "--deep"]).err)


def add_tests():
    """A test of its own for each code, so that each is counted and named."""
    for name in [name for name in dir(Codes) if name.startswith("code_")]:
        setattr(Codes, f"test_{name}", lambda self, code=name: getattr(self, code)())


add_tests()

if __name__ == "__main__":
    unittest.main()
