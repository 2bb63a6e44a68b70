"""Blocks that need a Kubernetes cluster name only what the manifests, the programs and the admin API have.

scripts/kube-demo and tests/e2e_cluster do the same things in a real cluster.
"""

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.markdown import ROOT, Page, user_pages

PAGES = [page for page in user_pages() if page.needs_cluster]
K8S = ROOT / "k8s"
# What kubectl calls a kind, in full and in short.
KINDS = {"deployment": "Deployment", "deploy": "Deployment", "statefulset": "StatefulSet", "service": "Service", "secret": "Secret",
         "job": "Job", "mutatingwebhookconfiguration": "MutatingWebhookConfiguration"}


@cache
def manifests() -> list[dict[str, Any]]:
    """Every object of every manifest, as it is written."""
    return [item for path in sorted(K8S.rglob("*.yaml")) for item in yaml.safe_load_all(path.read_text()) if isinstance(item, dict)]


@cache
def named() -> set[tuple[str, str]]:
    """Kind and name of every object, and of the Secrets that servers and the Job make."""
    found = {(item["kind"], item["metadata"]["name"]) for item in manifests() if "metadata" in item}
    return found | {("Secret", name) for name in ("sluice-tls", "sluice-database", "sluice-redis", "sluice-gateway-tls")}


@cache
def containers() -> set[str]:
    """Names of containers, also of the one that the injector adds."""
    names = {"sluice-agent"}
    for item in manifests():
        template = item.get("spec", {}).get("template", {}).get("spec", {})
        names |= {one["name"] for kind in ("initContainers", "containers") for one in template.get(kind, [])}
    return names


def commands(page: Page) -> str:
    """Shell blocks and inline code of a page, which users paste too."""
    inline = [text for _, text in re.findall(r"(?<!`)(`)([^`\n]+)`(?!`)", page.text)]
    return "\n".join([*(re.sub(r"\\\n", " ", block.text) for block in page.blocks("sh")), *inline])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_shell_can_read_every_block(page: Page) -> None:
    assert page.blocks("sh")
    for block in page.blocks("sh"):
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), block.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_objects_and_containers_are_those_of_the_manifests(page: Page) -> None:
    seen = re.findall(rf"\b({'|'.join(KINDS)})[/ ]((?:sluice|web)[a-z-]*)", commands(page))
    assert seen
    for kind, name in seen:
        assert (KINDS[kind], name) in named(), f"{page.name}: {kind} {name}"
    for container in re.findall(r" -c ([a-z][a-z-]*)", commands(page)):
        assert container in containers(), f"{page.name}: -c {container}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_are_those_of_the_repository(page: Page) -> None:
    for path in re.findall(r"(?<![\w/.])((?:k8s|scripts|examples|overlays|components)/[\w./-]+\w)", commands(page)):
        assert (ROOT / path).exists() or (K8S / path).exists(), f"{page.name}: {path}"


def fits(template: str, path: str) -> bool:
    """Whether a path is of a route: {id} stands for one segment."""
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_admin_calls_are_routes_of_the_server(page: Page, server_program: Path) -> None:
    told = subprocess.run([server_program, "routes"], capture_output=True, text=True, check=True).stdout
    routes = set(re.findall(r"\b(GET|POST|PUT|PATCH|DELETE)\s+(/v1/admin/\S+)", told))
    assert len(routes) > 50
    for line in commands(page).splitlines():
        for path in re.findall(r"(/v1/admin/[\w/-]+)", line):
            given = re.search(r"\b(GET|POST|PUT|PATCH|DELETE)\b", line)
            method = given[1] if given else "POST" if re.search(r" (-d|--data-binary) ", line) else "GET"
            assert any(method == one and fits(template, path) for one, template in routes), f"{page.name}: {method} {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_labels_and_annotations_are_those_of_the_injector_and_the_manifests(page: Page) -> None:
    source = "".join(path.read_text() for folder in ("injector", "kubernetes") for path in (ROOT / "server" / folder).glob("*.[ch]pp"))
    selected = "".join(path.read_text() for path in K8S.rglob("*.yaml"))
    for name in set(re.findall(r"sluice\\?\.dev/([a-z]+(?:-[a-z]+)*)", commands(page))):
        known = f'"sluice.dev/{name}"' in source or f'"{name}"' in source or f"sluice.dev/{name}: " in selected
        assert known, f"{page.name}: sluice.dev/{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_flags_and_variables_are_those_of_the_programs(page: Page, program: Path, server_program: Path) -> None:
    told = "".join(subprocess.run([one, *command, "--help"], capture_output=True, text=True, check=True).stdout
                   for one, command in ((program, ()), (server_program, ()), (server_program, ("migrate",)),
                                        (server_program, ("audit", "verify"))))
    for variable in set(re.findall(r"\bSLUICE_(?:SERVER|AGENT)_[A-Z_]+", page.text)):
        assert f"env: {variable}]" in told, f"{page.name}: {variable}"
    for flag in set(re.findall(r"(?<!`kubectl )`(--[a-z-]+)[` ]", page.text)):
        assert re.search(rf"^  {flag}\b", told, re.M), f"{page.name}: {flag}"
