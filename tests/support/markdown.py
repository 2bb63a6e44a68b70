"""The Markdown files of this repository: their code blocks, links and headings.

How a shell block is tested stands in an HTML comment before it, which readers do not see:

    <!-- test: prints REGEX -->    the block is pasted into a shell after scripts/up, and prints this
    <!-- test: names -->           the block is not run; the commands and flags it names must exist

A page that begins with `<!-- test: every block needs a cluster -->` is compared with the manifests by tests/docs/test_cluster_blocks.py.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDS_CLUSTER = "<!-- test: every block needs a cluster -->"
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text and its marker ("" where it has none)."""

    language: str
    text: str
    marker: str

    @property
    def prints(self) -> str:
        """The regular expression that the output must match; "" where the block is not pasted."""
        return self.marker.removeprefix("prints ") if self.marker.startswith("prints ") else ""


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        """Its path in the repository."""
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text()

    @property
    def needs_cluster(self) -> bool:
        """Whether its shell blocks are for a Kubernetes cluster."""
        return self.text.startswith(NEEDS_CLUSTER)

    def blocks(self, language: str) -> list[Block]:
        """Its fenced blocks in this language, in order."""
        text, found = self.text, []
        for match in FENCE.finditer(text):
            if match[2] == language:
                marker = re.search(r"<!-- test: (.*) -->\n\Z", text[:match.start()])
                found.append(Block(match[2], match[3], marker[1] if marker else ""))
        return found

    def prose(self) -> str:
        """Its text without fenced blocks and inline code."""
        return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", FENCE.sub("", self.text))

    def links(self) -> list[str]:
        """The targets of its links within this repository."""
        return [target for target in re.findall(r"\]\(([^)\s]+)\)", self.prose()) if not re.match(r"[a-z]+:", target)]

    def anchors(self) -> set[str]:
        """The fragments that its headings can be reached by, as GitHub makes them."""
        found: set[str] = set()
        for title in re.findall(r"^#+ +(.+?) *$", FENCE.sub("", self.text), re.M):
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()
            slug = base = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
            number = 0
            while slug in found:
                number += 1
                slug = f"{base}-{number}"
            found.add(slug)
        return found


def all_pages() -> list[Page]:
    """Every Markdown file that git knows, or would be told of by `git add`."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    return [Page(ROOT / name) for name in sorted(listed.split("\0")) if name and (ROOT / name).is_file()]


def user_pages() -> list[Page]:
    """README first, then what users read: docs/ and the examples."""
    pages = [page for page in all_pages() if page.name.startswith("docs/") or page.name == "examples/README.md"]
    return [Page(ROOT / "README.md"), *pages]
