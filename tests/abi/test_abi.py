#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The library as its users meet it: exported symbols, headers alone, an installed copy.

usage: test_abi.py SOURCE_ROOT BUILD_ROOT LIBRARY   (`meson test --suite abi` passes them)
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, LIBRARY = (pathlib.Path(argument) for argument in sys.argv[1:4])
INCLUDE = SOURCE / "include"
HEADERS = sorted((INCLUDE / "batchweave").glob("*.h"))
VERSION_NODE = "BATCHWEAVE_0"

STANDARDS = [
    ("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++11"),
    ("clang", "c", "c99"), ("clang", "c", "c11"), ("clang++", "c++", "c++11"),
]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wstrict-prototypes"]

USER_PROGRAM = """
#include <batchweave/error.h>
#include <batchweave/status.h>
#include <string.h>

int main(void)
{
    bw_error *error = bw_error_new();
    const int fine = error != NULL && bw_error_code(error) == BW_OK &&
                     strcmp(bw_status_name(BW_FENCED), "FENCED") == 0;
    bw_error_free(error);
    return fine ? 0 : 1;
}
"""


def run(command, **options):
    """Runs a command; on failure the exception shows what it printed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def declared_functions(headers):
    """Names of the functions that the headers declare, after the preprocessor."""
    names = set()
    for header in headers:
        text = run(["gcc", "-E", "-P", "-std=c11", "-I", INCLUDE, header])
        while True:  # bodies of structs and enums hold no declarations of functions
            text, count = re.subn(r"\{[^{}]*\}", " ", text)
            if count == 0:
                break
        for declaration in text.split(";"):
            match = re.search(r"\b(bw_\w+)\s*\(", declaration)
            if match and not declaration.lstrip().startswith("typedef"):
                names.add(match.group(1))
    return names


def exported_symbols(library):
    """Pairs (name, version) that the dynamic symbol table defines."""
    symbols = set()
    for line in run(["nm", "-D", "--defined-only", library]).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        if kind != "A":  # the version nodes themselves
            symbols.add((name, version.lstrip("@")))
    return symbols


class Exports(unittest.TestCase):
    def test_exports_are_exactly_what_the_headers_declare(self):
        declared = declared_functions(HEADERS)
        exported = {name for name, _ in exported_symbols(LIBRARY)}
        self.assertTrue(declared, "the headers declare no function")
        self.assertEqual(sorted(exported - declared), [], "exported, in no header")
        self.assertEqual(sorted(declared - exported), [], "in a header, not exported")

    def test_every_export_is_prefixed_and_versioned(self):
        for name, version in exported_symbols(LIBRARY):
            self.assertTrue(name.startswith("bw_"), name)
            self.assertEqual(version, VERSION_NODE, name)

    def test_an_undeclared_export_would_be_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "planted.h"
            header.write_text("typedef int (*bw_fn)(int);\nstruct bw_s { int (*bw_in)(int); };\n"
                              "int bw_planted_one(void);\nconst char *bw_planted_two(int (*f)(int));\n")
            self.assertEqual(declared_functions([header]), {"bw_planted_one", "bw_planted_two"})
            source = pathlib.Path(folder) / "planted.c"
            source.write_text("int bw_planted_one(void);\nint bw_planted_one(void) { return 1; }\n"
                              "int stray(void);\nint stray(void) { return 1; }\n")
            library = pathlib.Path(folder) / "planted.so"
            run(["gcc", "-shared", "-fPIC", "-o", library, source])
            self.assertEqual(exported_symbols(library), {("bw_planted_one", ""), ("stray", "")})


class Headers(unittest.TestCase):
    def test_each_header_compiles_alone(self):
        self.assertTrue(HEADERS, "no public headers")
        for header in HEADERS:
            for compiler, language, standard in STANDARDS:
                flags = [f for f in STRICT if language == "c" or f != "-Wstrict-prototypes"]
                with self.subTest(header=header.name, compiler=compiler, standard=standard):
                    run([compiler, "-x", language, f"-std={standard}", *flags, "-I", INCLUDE,
                         "-fsyntax-only", "-include", header, "/dev/null"])

    def test_no_public_struct_bodies_but_plain_values(self):
        """Handles are opaque (STYLE 2): no header defines the struct of a handle that has a _free,
        _close or _release."""
        text = "\n".join(header.read_text(encoding="utf-8") for header in HEADERS)
        for name in set(re.findall(r"\b(bw_\w+?)_(?:free|close|release)\s*\(", text)):
            self.assertNotRegex(text, rf"struct\s+{name}\s*\{{", name)


class Install(unittest.TestCase):
    def test_a_program_builds_and_runs_against_an_installed_copy(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "root"
            run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root])
            package = next(root.rglob("batchweave.pc"), None)
            self.assertIsNotNone(package, "no pkg-config file was installed")
            environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(package.parent),
                           "PKG_CONFIG_SYSROOT_DIR": str(root)}
            flags = run(["pkg-config", "--cflags", "--libs", "batchweave"], env=environment).split()
            program = pathlib.Path(folder) / "program"
            source = pathlib.Path(folder) / "program.c"
            source.write_text(USER_PROGRAM, encoding="utf-8")
            run(["gcc", "-std=c99", "-Wall", "-Werror", "-o", program, source, *flags])
            library = next(root.rglob("libbatchweave.so.0"))
            run([program], env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})
            self.examples(pathlib.Path(folder), flags, root, library.parent)
            installed = {path.name for path in root.rglob("*.h")}
            self.assertEqual(installed, {header.name for header in HEADERS})
            self.assertEqual(list(root.rglob("*.a")), [], "internal static libraries were installed")

    def test_the_installed_program_finds_its_library(self):
        """Under a prefix that no loader knows, and after it was moved."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "root"
            run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root])
            program = next(root.rglob("bin/batchweave"))
            environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
            self.assertTrue(run([program, "version"], env=environment).startswith("batchweave "))
            listed = run(["ldd", program], env=environment)
            library = re.search(r"libbatchweave\S+ => (\S+)", listed).group(1)
            self.assertIn(str(root.resolve()), os.path.realpath(library))

    def examples(self, folder, flags, root, libraries):
        """The programs of examples/ build as the guide says, and do what it says."""
        for name in ("produce", "consume"):
            run(["gcc", "-Wall", "-Wextra", "-Werror", "-o", folder / name, SOURCE / "examples" / f"{name}.c", *flags])
        environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
        lines = [f"line {number}" for number in range(101)]
        (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        url = f"file://{folder}/space"
        run([next(root.rglob("bin/batchweave")), "init", url, "--dp", "2", "--producers", "1"], env=environment)
        run([folder / "produce", url, folder / "lines.txt"], env=environment)
        items = []
        for rank in ("0", "1"):
            printed = run([folder / "consume", url, rank, "2"], env=environment)
            items += [(int(step), rank, text) for step, text in
                      (line.split(" ", 1) for line in printed.splitlines())]
        self.assertEqual([text for _, _, text in sorted(items)], lines)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
