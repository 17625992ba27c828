#!/usr/bin/env python3
"""Prints the licences of the code that is linked into the program `tandem`: crates, and Rust's library.

    scripts/licences.py > licences

Each crate stands with its licence expression, and each licence text once, below the crates that it
comes from. A crate without a text in its package stands with its expression only; then the licence
has to be one whose text Debian ships. The same lock file and toolchain give the same bytes.
"""

import html.parser
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = "tandem-cli"
# Names of files with licence texts and notices, without case.
NAMES = ("licen", "copying", "copyright", "notice", "unlicense")
# Folders of a package whose code is not linked.
NOT_LINKED = {"tests", "benches", "examples", "fuzz", "scripts"}
# Licences that need no notice but their text, which is in /usr/share/common-licenses.
COMMON = ("Apache-2.0",)


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def host() -> str:
    return next(line.split()[1] for line in output("rustc", "-vV").splitlines() if line.startswith("host:"))


def linked() -> list[dict]:
    """Packages from elsewhere whose code is in the program: no macros, build scripts or tests."""
    edges = ("-e", "normal,no-proc-macro", "--target", host())
    tree = output("cargo", "tree", "--quiet", "--locked", "-p", PROGRAM, *edges, "--prefix", "none", "--format", "{p}")
    # A line such as `clap v4.5.1`, and for a crate of this repository its folder.
    names = {tuple(line.split()[:2]) for line in tree.splitlines()}
    data = output("cargo", "metadata", "--quiet", "--locked", "--format-version", "1", "--filter-platform", host())
    packages = json.loads(data)["packages"]
    foreign = (package for package in packages if package["source"] is not None)
    found = [package for package in foreign if (package["name"], f"v{package['version']}") in names]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package: dict) -> list[str]:
    folder = pathlib.Path(package["manifest_path"]).parent
    named = (path for path in folder.rglob("*") if path.is_file() and path.name.lower().startswith(NAMES))
    outside = {".rs", ".c", ".h", ".html"}
    files = [path for path in named if path.suffix not in outside and NOT_LINKED.isdisjoint(path.relative_to(folder).parts)]
    if package["license_file"]:
        files.append(folder / package["license_file"])
    found = [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(set(files))]
    return ["\n".join(line.rstrip() for line in text.splitlines()) for text in found]


class Text(html.parser.HTMLParser):
    """The text of a page in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def standard_library() -> tuple[str, str]:
    """Name with version, and the notices that the toolchain ships; empty if it ships none."""
    release = next(line.split()[1] for line in output("rustc", "-vV").splitlines() if line.startswith("release:"))
    notices = pathlib.Path(output("rustc", "--print", "sysroot").strip(), "share/doc/rust/COPYRIGHT-library.html")
    text = Text()
    if notices.is_file():
        text.feed(notices.read_text(encoding="utf-8"))
    lines = (line.rstrip() for line in "".join(text.parts).splitlines())
    return f"Rust standard library {release}", "\n".join(line for line in lines if line)


def main() -> None:
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    library, notices = standard_library()
    users: dict[str, list[str]] = {notices: [library]} if notices else {}
    print("Code that is linked into tandem, and its licences\n")
    print(f"{library}: MIT OR Apache-2.0{'' if notices else ' (no text in the toolchain)'}")
    for package in linked():
        name = f"{package['name']} {package['version']}"
        own = texts(package)
        if not own and package["license"] not in COMMON:
            sys.exit(f"no licence text: {name}, {package['license']}")
        remark = "" if own else " (no text in its package; see /usr/share/common-licenses)"
        print(f"{name}: {package['license'] or 'the text below'}{remark}")
        for text in own:
            users.setdefault(text, []).append(name)
    for text, names in users.items():
        print(f"\n{'=' * 80}\n{', '.join(dict.fromkeys(names))}\n{'=' * 80}\n\n{text}")


if __name__ == "__main__":
    main()
