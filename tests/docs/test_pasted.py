"""The shell blocks and JSON of README, docs/ and examples/ work as they are pasted."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from support.markdown import ROOT, Block, Page, user_pages
from support.process import free_port

PAGES = user_pages()
PASTED = [page for page in PAGES if any(block.prints for block in page.blocks("sh"))]
NAMED = [(page, block) for page in PAGES for block in page.blocks("sh") if block.marker == "names"]


def test_every_shell_block_says_how_it_is_tested() -> None:
    unmarked = [(page.name, block.text) for page in PAGES if not page.needs_cluster for block in page.blocks("sh")
                if not block.prints and block.marker != "names"]
    assert not unmarked
    assert sum(bool(block.prints) for page in PASTED for block in page.blocks("sh")) >= 20


@pytest.mark.parametrize("page", PASTED, ids=lambda page: page.name)
def test_every_block_of_the_page_runs_as_it_is_pasted(clone: Path, page: Page) -> None:
    for block in page.blocks("sh"):
        if not block.prints:
            continue
        pasted = block.text.replace("8188", str(free_port())).replace("9188", str(free_port()))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", pasted], cwd=clone, capture_output=True, timeout=60, check=False)
        printed = done.stdout.decode()
        assert done.returncode == 0, (block.text, printed, done.stderr)
        assert re.search(block.prints, printed, re.M), (block.text, block.prints, printed)


def help_of(command: str, words: list[str], programs: dict[str, Path]) -> str:
    """The help of a script or a program; of sluicectl that of the command."""
    below = words[:1] if command == "sluicectl" else []
    return subprocess.run([programs.get(command, ROOT / command), *below, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("page, block", NAMED, ids=lambda value: getattr(value, "name", ""))
def test_commands_that_are_not_run_exist_and_have_the_flags(page: Page, block: Block, program: Path, server_program: Path,
                                                                  sluicectl_program: Path) -> None:
    programs = {"sluice-agent": program, "sluice-server": server_program, "sluicectl": sluicectl_program}
    lines = re.sub(r"\\\n", " ", block.text).splitlines()
    for command, *words in (line.split() for line in lines):
        known = help_of(command, words, programs)
        for flag in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert re.search(rf"(^|\s){flag}\b", known), f"{page.name}: {command} has no {flag}"


def check_config(program: Path, folder: Path, document: object) -> None:
    """Fails where the agent would not load this bundle, or would warn of it."""
    bundle = folder / "bundle.json"
    bundle.write_text(json.dumps(document))
    done = subprocess.run([program, "--policies", bundle, "--check-config"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def bundle_with(**objects: object) -> dict[str, object]:
    """A bundle with the tenant that the documentation uses."""
    return {"format": "sluice/v1", "organizations": [{"id": "acme", "name": "Acme"}],
            "tenants": [{"id": "shop", "organization_id": "acme"}], **objects}


def test_the_plans_and_policies_shown_are_accepted(program: Path, tmp_path: Path) -> None:
    shown = [json.loads(block.text) for page in PAGES for block in page.blocks("json")]
    short = [json.loads(text) for page in PAGES for text in re.findall(r"^`(\{\"endpoint\".*\})`", page.text, re.M)]
    policies = [one for one in shown if "plan_id" in one]
    plans = [one for one in shown if "plan_id" not in one]
    assert policies and plans and short
    check_config(program, tmp_path, bundle_with(plans=plans, policies=policies + short))


def test_the_limits_shown_are_accepted(program: Path, tmp_path: Path) -> None:
    text = Page(ROOT / "docs/guide/algorithms.md").text
    limits = [json.loads(one) for one in re.findall(r"`(\{\"(?:algorithm|rate|limit)\".*?\})`", text)]
    assert len(limits) >= 9
    check_config(program, tmp_path, bundle_with(plans=[
        {"tenant_id": "shop", "id": f"plan{number}", **limit} for number, limit in enumerate(limits)]))


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
