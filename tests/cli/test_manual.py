# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completions: each command and option is there, and mandoc, man and the shells take them."""

import json
import os
import re
import subprocess
import unittest

import harness

FOLDER = os.path.dirname(os.path.abspath(harness.BINARY))
GENERATED = os.path.join(FOLDER, "generated")


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, **more)


class Table(harness.CliTest):
    """What `help` says there is."""

    def setUp(self):
        super().setUp()
        overview = self.run_cli("help").out.decode()
        self.commands = re.findall(r"^  (\w+) ", overview, re.M)
        self.options = {name: re.findall(r"^  --([\w-]+)", self.run_cli("help", name).out.decode(), re.M)
                        for name in self.commands}
        self.assertGreater(sum(map(len, self.options.values())), 150)


class Pages(Table):
    def page(self, *command):
        return self.run_cli("help", "--man", *command).out.decode()

    def test_what_is_in_them(self):
        main = self.page()
        for name in self.commands:
            self.assertIn(f"batchweave\\-{name}\\fR(1)", main)
            page = self.page(name)
            for option in self.options[name]:
                self.assertIn("\n\\fB\\-\\-" + option.replace("-", "\\-") + "\\fR", page)
            for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "OUTPUT", "EXIT STATUS", "EXAMPLES"):
                self.assertIn(f"\n.SH {part}\n", page, name)

    def test_mandoc_and_man_take_them(self):
        for name in [None, *self.commands]:
            path = self.folder / "page.1"
            path.write_text(self.page(*([name] if name else [])), encoding="ascii")
            lint = run("mandoc", "-T", "lint", "-W", "warning", path).stdout.splitlines()
            # A page that is made again from the same table is the same: there is no date in it.
            self.assertEqual([line for line in lint if "missing date" not in line], [])
            groff = run("groff", "-man", "-Tutf8", "-ww", "-z", path)
            self.assertEqual((groff.returncode, groff.stderr), (0, ""), name)

    def test_readers_see_the_text_as_it_is(self):
        """What a page shows is what --help says, byte for byte: quotes, dashes, backslashes, dots at a beginning."""
        for name in self.commands:
            path = self.folder / "page.1"
            path.write_text(self.page(name), encoding="ascii")
            shown = run("mandoc", "-T", "utf8", "-O", "width=500", path).stdout
            shown = " ".join(re.sub(r".\x08", "", shown).split())
            help_text = self.run_cli("help", name).out.decode()
            details = "\n".join(help_text.split("\noptions")[0].split("\n\n")[2:])
            examples = help_text.split("\nexamples:\n")[1]
            for line in [*details.splitlines(), *examples.splitlines()]:
                self.assertIn(" ".join(line.split()), shown)

    def test_installed(self):
        built = os.path.dirname(FOLDER)
        installed = json.loads(run("meson", "introspect", "--installed", built).stdout)
        places = {target[len(os.path.commonpath([target, "/usr"])):] for target in installed.values()}
        names = {os.path.basename(place) for place in places if "/man1/" in place}
        self.assertEqual(names, {"batchweave.1", *(f"batchweave-{name}.1" for name in self.commands)})
        for ending in ("bash-completion/completions/batchweave", "zsh/site-functions/_batchweave",
                       "fish/vendor_completions.d/batchweave.fish"):
            self.assertEqual(sum(place.endswith(ending) for place in places), 1, ending)
        for name, words in (("batchweave-gc.1", ["--man", "gc"]), ("batchweave", ["--completion", "bash"])):
            with open(os.path.join(GENERATED, name), "rb") as file:
                self.assertEqual(file.read(), self.run_cli("help", *words).out)


class Completion(Table):
    def script(self, shell):
        path = self.folder / {"bash": "batchweave", "zsh": "_batchweave", "fish": "batchweave.fish"}[shell]
        path.write_bytes(self.run_cli("help", "--completion", shell).out)
        return path

    def test_other_shells(self):
        self.refused("INVALID", "help", "--completion", "csh")

    def bash(self, *words):
        """What bash offers for the last word."""
        line = " ".join(f"'{word}'" for word in words)
        done = run("bash", "-c", f"compopt() {{ :; }}; source {self.script('bash')}; COMP_WORDS=({line}); "
                   f"COMP_CWORD={len(words) - 1}; _batchweave; printf '%s\\n' \"${{COMPREPLY[@]}}\"", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(set(self.bash("batchweave", "")), {"--help", "--version", *self.commands})
        self.assertEqual(self.bash("batchweave", "pro"), ["produce"])
        for name in self.commands:
            self.assertEqual(set(self.bash("batchweave", name, "--")), {f"--{o}" for o in self.options[name]})
        self.assertEqual(self.bash("batchweave", "produce", "--on-bad", ""), ["stop", "skip"])
        self.assertEqual(self.bash("batchweave", "gc", "-o", "j"), ["json"])
        self.assertEqual(self.bash("batchweave", "group", ""), ["ls", "rm"])
        self.assertEqual(self.bash("batchweave", "group", "ls", ""), [])
        self.assertEqual(self.bash("batchweave", "errors", "FEN"), ["FENCED"])
        self.assertEqual(self.bash("batchweave", "help", "set"), ["settings"])
        self.assertEqual(self.bash("batchweave", "consume", "--set", "resc"), ["rescale="])
        self.assertEqual(self.bash("batchweave", "produce", "--id", ""), [])
        (self.folder / "cursor.json").touch()
        self.assertEqual(self.bash("batchweave", "pin", "--cursor", "cur"), ["cursor.json"])

    def test_fish(self):
        path = self.script("fish")

        def offers(line):
            done = run("fish", "--no-config", "-c", f"source {path}; complete -C '{line}'", cwd=self.folder,
                       env=harness.environment(HOME=str(self.folder)))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return {row.split("\t")[0] for row in done.stdout.splitlines()}
        self.assertEqual(offers("batchweave "), set(self.commands))
        for name in self.commands:
            self.assertEqual(offers(f"batchweave {name} --"), {f"--{o}" for o in self.options[name]})
        self.assertEqual(offers("batchweave produce --on-bad "), {"stop", "skip"})
        self.assertEqual(offers("batchweave group "), {"ls", "rm"})
        self.assertEqual(offers("batchweave errors FENC"), {"FENCED"})
        self.assertEqual(offers("batchweave consume --set resc"), {"rescale="})

    def test_zsh(self):
        """zsh asks a terminal; its functions that would offer something write down what they were given instead."""
        path = self.script("zsh")
        frame = f"""
            compdef() {{ print -r -- "compdef $*" }}
            source {path}
            _describe() {{ print -rl -- ${{(P)3}} ${{(P)2}} }}
            _arguments() {{ print -rl -- "$@" }}
            ask() {{ words=("$@"); CURRENT=$#; _batchweave; print -- ; }}
        """
        calls = ["ask batchweave ''", *(f"ask batchweave {name} ''" for name in self.commands)]
        done = run("zsh", "-f", "-c", frame + "\n".join(f"{call}; print -r -- '=='" for call in calls), cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, *rest = done.stdout.split("==\n")
        self.assertIn("compdef _batchweave batchweave", first)
        self.assertEqual(re.findall(r"(?m)^(\w+):", first), self.commands)
        for name, text in zip(self.commands, rest):
            self.assertEqual(set(re.findall(r"(?m)^\*?--([\w-]+)\[", text)), set(self.options[name]), name)
        produce = rest[self.commands.index("produce")]
        self.assertIn("]:stop|skip:( stop skip)", produce)

    def test_zsh_loads_it(self):
        """With zsh's own functions, from a directory of its path."""
        self.script("zsh")
        done = run("zsh", "-f", "-c", f"fpath=({self.folder} $fpath); autoload -Uz compinit; "
                   "compinit -u -d ./dump; print -r -- $_comps[batchweave]; autoload +X _batchweave && print loaded",
                   cwd=self.folder, env=harness.environment(HOME=str(self.folder)))
        self.assertEqual((done.stdout, done.stderr), ("_batchweave\nloaded\n", ""))


if __name__ == "__main__":
    unittest.main()
