"""The configuration that a page of docs/proxies shows, as files for the real program.

    <!-- test: file nginx.conf -->        the block is this file, complete
    <!-- test: fail-open nginx.conf -->   a diff: its lines with - are in that file, and are replaced by those with +

The ports that all pages use stand for those of the test.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from support.markdown import FENCE, ROOT, Page

AGENT, GRPC, FRONT, APP = "8088", "8089", "8080", "8081"   # the ports that pages show


def marked(page: Page) -> list[tuple[str, str]]:
    """Every marked block: the marker and the text."""
    found = []
    for match in FENCE.finditer(page.text):
        marker = re.search(r"<!-- test: (.*) -->\n\Z", page.text[:match.start()])
        if marker:
            found.append((marker[1], match[3]))
    return found


def changed(text: str, diff: str) -> str:
    """The text with the diff applied."""
    lines = text.splitlines()
    for old, new in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", diff, re.M):
        before = [line[1:] for line in old.splitlines()]
        after = [line[1:] for line in new.splitlines()]
        places = [at for at in range(len(lines)) if lines[at:at + len(before)] == before]
        assert len(places) == 1, f"the diff's lines are {len(places)} times in the file: {before}"
        lines[places[0]:places[0] + len(before)] = after
    return "\n".join(lines) + "\n"


def files_of(name: str, variant: str = "") -> dict[str, str]:
    """The files of docs/proxies/NAME.md, with the diffs of a variant such as "fail-open" applied."""
    blocks = marked(Page(ROOT / f"docs/proxies/{name}.md"))
    files = {marker.removeprefix("file "): text for marker, text in blocks if marker.startswith("file ")}
    diffs = [(marker.removeprefix(f"{variant} "), text) for marker, text in blocks if variant and marker.startswith(f"{variant} ")]
    assert files and (diffs or not variant), f"docs/proxies/{name}.md has no file, or no block {variant}"
    for file, diff in diffs:
        files[file] = changed(files[file], diff)
    return files


def write(files: Mapping[str, str], folder: Path, ports: Mapping[str, int], paths: Mapping[str, str]) -> None:
    """Writes them with the test's ports, and with its paths in place of those that the page shows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        for shown, here in paths.items():
            assert shown in "".join(files.values()), f"the page does not show {shown}"
            text = text.replace(shown, here)
        for shown, port in ports.items():
            text = re.sub(rf"\b{shown}\b", str(port), text)
        (folder / name).write_text(text)
