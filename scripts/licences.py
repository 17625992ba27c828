#!/usr/bin/env python3
"""Prints the licences of the crates that are linked into the program `tandem`.

    scripts/licences.py > licences

Each crate stands with its licence expression, and each licence text once, below the crates that it
comes from. A crate without a text in its package stands with its expression only.
"""

import json
import os
import pathlib
import subprocess
import sys

PROGRAM = "tandem-cli"
# Names of files with licence texts and notices, without case.
NAMES = ("licen", "copying", "notice", "unlicense")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked() -> list[dict]:
    """Packages from elsewhere whose code is in the program: no macros, build scripts or tests."""
    tree = output(
        "cargo", "tree", "--locked", "-p", PROGRAM, "-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"
    )
    # A line such as `clap v4.5.1`, and for a crate of this repository its folder.
    names = {tuple(line.split()[:2]) for line in tree.splitlines()}
    host = next(line.split()[1] for line in output("rustc", "-vV").splitlines() if line.startswith("host:"))
    data = output("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host)
    packages = json.loads(data)["packages"]
    foreign = (package for package in packages if package["source"] is not None)
    found = [package for package in foreign if (package["name"], f"v{package['version']}") in names]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package: dict) -> list[str]:
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(NAMES))
    if package["license_file"]:
        files.append(folder / package["license_file"])
    found = [path.read_text(encoding="utf-8", errors="replace").strip() for path in dict.fromkeys(files)]
    return ["\n".join(line.rstrip() for line in text.splitlines()) for text in found]


def main() -> None:
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    users: dict[str, list[str]] = {}
    print("Crates that are linked into tandem, and their licences\n")
    for package in linked():
        name = f"{package['name']} {package['version']}"
        own = texts(package)
        if not own and not package["license"]:
            sys.exit(f"no licence: {name}")
        print(f"{name}: {package['license'] or 'the text below'}{'' if own else ' (no text in its package)'}")
        for text in own:
            users.setdefault(text, []).append(name)
    for text, names in users.items():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{text}")


main()
