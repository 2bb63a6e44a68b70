#!/usr/bin/env python3
"""Compares what each folder includes with what its README says that it may depend on.

A folder of common/, engine/, libsluice/, agent/, server/ or ctl/ that has a README states one paragraph:

    May depend on: `common/base`, `common/json`; RapidJSON, fmt.

The folders in backticks are compared with the includes of the folder's files, in both directions. A folder without a
README belongs to the nearest folder above it that has one. Folders must not depend on each other in a circle.
"""
import re
import sys
from pathlib import Path

TREES = ("common", "engine", "libsluice", "agent", "server", "ctl")
STATEMENT = re.compile(r"^May depend on: (.*?)(?:\n\s*\n|\Z)", re.S | re.M)
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def folder_of(path, folders):
    """The folder with a README that a file belongs to; None where the file is outside of all of them."""
    for parent in Path(path).parents:
        if str(parent) in folders:
            return str(parent)
    return None


def statements(root):
    """Folder -> the folders that its README allows; None where the README has no statement."""
    found = {}
    for tree in TREES:
        for readme in sorted((root / tree).rglob("README.md")):
            text = STATEMENT.search(readme.read_text())
            names = re.findall(r"`([^`]+)`", text.group(1)) if text else None
            found[str(readme.parent.relative_to(root))] = None if names is None else {n for n in names if is_folder(root, n)}
    return found


def is_folder(root, name):
    return (root / name).is_dir()


def includes(root, folders):
    """Folder -> folder -> the first include that makes the one depend on the other, as text."""
    found = {folder: {} for folder in folders}
    for tree in TREES:
        for file in sorted((root / tree).rglob("*.[ch]pp")):
            path = file.relative_to(root)
            own = folder_of(path, folders)
            for header in INCLUDE.findall(file.read_text()):
                other = folder_of(header, folders) or header.split("/")[0]
                if own and other != own and is_folder(root, other):
                    found[own].setdefault(other, f"{path} includes {header}")
    return found


def circle(graph):
    """One circle as a list of folders that begins and ends with the same one; [] where there is none."""
    done = set()

    def walk(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        if folder in done:
            return []
        for other in sorted(graph.get(folder, ())):
            if found := walk(other, way + [folder]):
                return found
        done.add(folder)
        return []

    for folder in sorted(graph):
        if found := walk(folder, []):
            return found
    return []


def faults(root):
    allowed = statements(root)
    used = includes(root, allowed.keys())
    texts = []
    for folder, others in sorted(used.items()):
        if allowed[folder] is None:
            if others:
                texts.append(f"{folder}/README.md has no paragraph that begins with \"May depend on: \"; "
                             f"the includes need: {', '.join(f'`{o}`' for o in sorted(others))}.")
            continue
        may = ", ".join(sorted(allowed[folder])) or "no other folder"
        for other in sorted(others.keys() - allowed[folder]):
            texts.append(f"{others[other]}, but {folder} may depend on {may}. "
                         f"Remove the include, or add `{other}` to {folder}/README.md.")
        for other in sorted(allowed[folder] - others.keys()):
            texts.append(f"{folder}/README.md allows `{other}`, but no file of {folder} includes it. Remove it there.")
    if found := circle(used):
        ways = [used[a][b] for a, b in zip(found, found[1:])]
        texts.append(f"These folders depend on each other in a circle: {' -> '.join(found)}. " + "; ".join(ways) + ".")
    return texts


def main():
    root = Path(__file__).resolve().parents[2]
    found = faults(root)
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
