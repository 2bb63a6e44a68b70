"""A real Prometheus that scrapes programs under test."""

import json
import math
import shutil
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from support.process import Process, free_port, wait_until


class Prometheus:
    """Scrapes `targets` (job → ports of the loopback) once a second. Every series has the labels `namespace` and `pod`."""

    def __init__(self, folder: Path, targets: Mapping[str, Sequence[int]]) -> None:
        assert shutil.which("prometheus"), "there is no prometheus: scripts/setup manifests"
        folder.mkdir()
        self.port = free_port()
        jobs = [{"job_name": job, "static_configs": [
            {"targets": [f"127.0.0.1:{port}"], "labels": {"namespace": "shop", "pod": f"{job}-{number}"}}
            for number, port in enumerate(ports)]} for job, ports in targets.items()]
        (folder / "prometheus.yml").write_text(yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}))
        self.process = Process(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                f"--web.listen-address=127.0.0.1:{self.port}"], folder / "prometheus.log")
        wait_until("Prometheus", self._is_ready, 60)

    def _is_ready(self) -> bool:
        assert self.process.alive(), self.process.output()[-3000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=10):
                return True
        except OSError:
            return False

    def _ask(self, what: str, **parameters: str) -> list[dict[str, Any]]:
        body = urllib.parse.urlencode(parameters).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{what}", body, timeout=30) as reply:
            found: list[dict[str, Any]] = json.load(reply)["data"]["result"]
        return found

    def values(self, expression: str) -> list[float]:
        """What an expression gives now, without what is not a number."""
        found = [float(series["value"][1]) for series in self._ask("query", query=expression)]
        return [value for value in found if not math.isnan(value)]

    def ranges(self, expression: str, seconds: float, step: float = 1) -> list[tuple[dict[str, str], list[tuple[float, float]]]]:
        """Labels and samples of each series in the last seconds."""
        now = time.time()
        found = self._ask("query_range", query=expression, start=str(now - seconds), end=str(now), step=str(step))
        return [(series["metric"], [(float(at), float(value)) for at, value in series["values"]]) for series in found]

    def close(self) -> None:
        """Ends it."""
        self.process.end()
