"""Fixtures of the tests against a cluster: the images of scripts/image, and Sluice installed from them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.installed import IMAGES, App, Installed, MakeApp
from support.kube import KubeCluster
from support.oci import ImageArchive

ARCHIVES = Path(os.environ.get("SLUICE_IMAGES") or Path(__file__).resolve().parents[2] / "build/image")


@pytest.fixture(scope="session")
def image_file() -> Callable[[str], Path]:
    """The archive of an image: "sluice", "sluice-postgres" or "sluice-redis"."""

    def find(name: str) -> Path:
        path = ARCHIVES / f"{name}.tar"
        if not path.is_file():
            reason = (f"there is no {path}: run scripts/image {name.removeprefix('sluice-')}, or name the folder of its "
                      "archives with SLUICE_IMAGES")
            if os.environ.get("SLUICE_KUBE_REQUIRED") == "1":
                pytest.fail(reason)
            pytest.skip(reason)
        return path

    return find


@pytest.fixture(scope="session")
def image(image_file: Callable[[str], Path]) -> Callable[[str], ImageArchive]:
    """What is in an image."""
    read: dict[str, ImageArchive] = {}

    def find(name: str) -> ImageArchive:
        if name not in read:
            read[name] = ImageArchive(image_file(name))
        return read[name]

    return find


@pytest.fixture(scope="session")
def installed(cluster: KubeCluster, image_file: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """k8s/overlays/dev, with the demo's policies."""
    return Installed(cluster, tmp_path_factory.mktemp("installed")).install(*map(image_file, IMAGES))


@pytest.fixture(scope="module")
def apps(installed: Installed) -> str:
    """A namespace for applications."""
    return installed.namespace()


@pytest.fixture
def make_app(installed: Installed, apps: str) -> Iterator[MakeApp]:
    """Makes pods that ask: make_app(script, name, **spec)."""
    made: list[App] = []

    def make(script: str = "", name: str = "app", **spec: object) -> App:
        made.append(installed.app(apps, script, f"{name}-{installed.number()}", **spec))
        return made[-1]

    yield make
    for one in made:
        one.forget()
