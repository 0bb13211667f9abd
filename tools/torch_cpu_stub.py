# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the torch of this interpreter's environment work without the CUDA libraries, 4 GB, that it is linked with.

PyPI has no torch for processors alone. This writes a small library for each that is missing: every function
that torch takes from it answers 100, "no CUDA-capable device". For environments that tests run in, and nothing else:
a GPU is never seen there. tools/python uses it, for the one release of torch that is pinned there.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

NO_DEVICE = 100
# Who asks for the text of an error gets a text.
TEXTS = re.compile(r"(GetErrorString|GetErrorName|GetLastErrorString|get_error_string)$")
# What a machine without GPU has not; libcuda, the driver's, stays away: torch looks for it to see whether there is one.
CUDA = re.compile(r"lib(cu(?!da\.)|nv|nccl)\w*\.so\.\d+$")


def output(*words: object) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def needed(library: pathlib.Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library))


def symbols(library: pathlib.Path, which: str) -> list[tuple[str, str]]:
    """(name, version) of what the library defines (--defined-only) or wants (--undefined-only)."""
    lines = output("nm", "-D", which, "--with-symbol-versions", library).splitlines()
    found = (line.split()[-2:] for line in lines if line.split())
    # Weak ones (w, v) may stay without a definition.
    pairs = [name.partition("@") for kind, name in found if kind not in "wv"]
    return [(name, version.lstrip("@")) for name, _, version in pairs]


def owners(library: pathlib.Path) -> dict[str, str]:
    """Version -> the library that has it, of the versions that this one wants."""
    found, owner = {}, ""
    for line in output("readelf", "-V", "-W", library).splitlines():
        if match := re.search(r"\bFile: (\S+)", line):
            owner = match.group(1)
        elif (match := re.search(r"\bName: (\S+)\s+Flags:", line)) and owner:
            found[match.group(1)] = owner
    return found


def missing_symbols(libraries: list[pathlib.Path]) -> dict[str, set[tuple[str, str]]]:
    """By missing library: the (name, version) that others want of it. Whose a symbol is its version tells; one without
    is given to any of those that the library which wants it names."""
    there = {library.name for library in libraries}
    defined = {name for library in libraries for name, _ in symbols(library, "--defined-only")}
    wanted: dict[str, set[tuple[str, str]]] = {}
    for library in libraries:
        absent = [name for name in needed(library) if CUDA.match(name) and name not in there]
        for name in absent:
            wanted.setdefault(name, set())
        if not absent:
            continue
        owner = owners(library)
        for name, version in symbols(library, "--undefined-only"):
            if owner.get(version) in wanted:
                wanted[owner[version]].add((name, version))
            elif not version and name not in defined:
                wanted[absent[-1]].add((name, ""))
    return wanted


def make_library(path: pathlib.Path, functions: set[tuple[str, str]]) -> None:
    lines = [f"static int no_device(void) {{ return {NO_DEVICE}; }}",
             'static const char *no_device_text(void) { return "no CUDA device: a stub for tests"; }']
    for name, _ in sorted(functions):
        kind, target = ("const char *", "no_device_text") if TEXTS.search(name) else ("int ", "no_device")
        lines.append(f'{kind}{name}(void) __attribute__((alias("{target}")));')
    versions = "".join(
        f"{node} {{ global: {' '.join(f'{name};' for name, version in sorted(functions) if version == node)} }};\n"
        for node in sorted({version for _, version in functions if version}))
    with tempfile.TemporaryDirectory() as work:
        source, script = pathlib.Path(work) / "stub.c", pathlib.Path(work) / "stub.map"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script.write_text(versions, encoding="utf-8")
        options = [f"-Wl,--version-script={script}"] if versions else []
        output("cc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{path.name}", *options, "-o", path, source)


def main() -> int:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        print("torch_cpu_stub: no torch in this environment", file=sys.stderr)
        return 1
    folder = pathlib.Path(spec.origin).parent / "lib"
    wanted = missing_symbols(sorted(folder.glob("*.so*")))
    for name, functions in sorted(wanted.items()):
        make_library(folder / name, functions)
    print(f"torch_cpu_stub: {len(wanted)} libraries, {sum(map(len, wanted.values()))} functions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
