"""Links and anchors of all Markdown files lead somewhere."""

from pathlib import Path
from urllib.parse import unquote

import pytest

from support.markdown import ROOT, Page, all_pages

PAGES = all_pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_the_page_leads_to_a_file_and_a_heading(page: Page) -> None:
    for target in page.links():
        path, _, fragment = target.partition("#")
        file = (page.path.parent / unquote(path)).resolve() if path else page.path
        assert file.exists(), f"{page.name}: there is no {target}"
        assert file.is_relative_to(ROOT), f"{page.name}: {target} is outside of the repository"
        if fragment and file.suffix == ".md":
            assert fragment in Page(file).anchors(), f"{page.name}: {target} has no such heading"


def test_every_page_of_the_documentation_is_linked_from_its_index() -> None:
    index = Page(ROOT / "docs/README.md")
    linked = {(index.path.parent / target.partition("#")[0]).resolve() for target in index.links()}
    pages = {page.path for page in PAGES if page.name.startswith("docs/") and page != index}
    assert pages <= linked, sorted(str(path) for path in pages - linked)


def test_the_links_of_a_page_are_found() -> None:
    page = Page(Path(ROOT / "README.md"))
    assert "docs/guide/checks.md" in page.links()
    assert "the-first-check" in page.anchors()
