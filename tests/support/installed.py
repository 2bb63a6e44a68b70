"""Sluice in a cluster with a node, installed as the guide says: overlays/dev, the demo's policies, namespaces with agents."""

import base64
import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from support.kube import RESTRICTED, KubeCluster
from support.process import wait_until

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "sluice-system"
OVERLAY = ROOT / "k8s/overlays/dev"
IMAGES = ("sluice", "sluice-postgres", "sluice-redis", "sluice-app")   # what its pods run, the applications' too
SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "runAsUser": 1000,
            "seccompProfile": {"type": "RuntimeDefault"}}
# What an application's script asks with: check RESOURCE SUBJECT prints the status; the reply's body goes to the file $BODY.
CHECK = """check() { curl -s -m 5 -o "${BODY:-/dev/null}" -w '%{http_code}' -X POST "$SLUICE_URL/v1/check" -H "x-api-key: $KEY" \
 -H 'content-type: application/json' -d "{\\"resource\\":\\"$1\\",\\"subject\\":\\"$2\\"}"; }
"""

Json = dict[str, Any]


def app_container(script: str = "") -> Json:
    """A container that runs the script, under "restricted"; without one it waits to be told."""
    container: Json = {
        "name": "app", "image": "localhost/sluice-app:dev", "imagePullPolicy": "Never", "securityContext": SECURITY,
        "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "sluice-key", "key": "key"}}}]}
    if script:
        container["command"] = ["sh", "-c", CHECK + script]
    return container


class Installed:
    """The installation of an overlay in a namespace, and who administers it."""

    def __init__(self, cluster: KubeCluster, folder: Path, overlay: Path = OVERLAY, system: str = SYSTEM) -> None:
        self.cluster = cluster
        self._folder = folder
        self._overlay = overlay
        self._system = system
        self._numbers = itertools.count(1)
        self._labelled = ""   # the last namespace whose pods get an agent

    def install(self, *images: Path) -> "Installed":
        """The images, one apply, and its roll-out; then the first token and the demo's policies."""
        self.cluster.load(*images)
        self.cluster.kubectl("apply", "-k", str(self._overlay))
        for name in ("statefulset/sluice-postgres", "statefulset/sluice-redis", "deployment/sluice-server"):
            self.rolled_out(name)
        token = self.cluster.kubectl("-n", self._system, "exec", "deploy/sluice-server", "-c", "sluice-server", "--",
                                     "/usr/bin/sluice-server", "bootstrap").strip()
        headers = self._folder / "headers"
        headers.touch(mode=0o600)
        headers.write_text(f"authorization: Bearer {token}\ncontent-type: application/json\n")
        made = self.cluster.get("secret", "sluice-tls", self._system)["data"]["ca.crt"]
        (self._folder / "ca.crt").write_bytes(base64.b64decode(made))
        # The node learns of a Service's new address a moment after the roll-out.
        wait_until("the server behind its Service", lambda: self._call("GET", "/revision").returncode == 0, 30)
        self.admin("POST", "/apply", json.loads((ROOT / "examples/demo.json").read_text()))
        return self

    def rolled_out(self, name: str, namespace: str = "") -> None:
        """Until it is; without a namespace, of Sluice's own."""
        self.cluster.kubectl("-n", namespace or self._system, "rollout", "status", name, "--timeout=180s", seconds=200)

    def scale(self, name: str, replicas: int) -> None:
        """Of Sluice's namespace; until so many are there, no more, and new pods get an agent again."""
        self.cluster.kubectl("-n", self._system, "scale", name, f"--replicas={replicas}")
        label = name.split("/")[1]
        wait_until(f"{replicas} of {name}", lambda: len(self.cluster.get(
            "pods", "", self._system, "-l", f"app.kubernetes.io/name={label}")["items"]) == replicas, 120)
        if replicas > 0:
            self.rolled_out(name)
            if self._labelled:
                wait_until("the webhook", self._injects, 30)

    def _injects(self) -> bool:
        """Whether a pod made now gets an agent. For a moment after a roll-out the API server may still find nobody."""
        asked = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"asked-{self.number()}", "namespace": self._labelled},
                 "spec": {"containers": [app_container()]}}
        done = self.cluster.try_kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", text=json.dumps(asked))
        return done.returncode == 0 and "sluice.dev/injected" in json.loads(done.stdout)["metadata"].get("annotations", {})

    def admin(self, method: str, path: str, body: Optional[Json] = None) -> Any:
        """A call of the admin API by the Service's name and address."""
        done = self._call(method, path, body)
        assert done.returncode == 0, f"{method} {path}: {done.stdout} {done.stderr}"
        return json.loads(done.stdout) if done.stdout else None

    def _call(self, method: str, path: str, body: Optional[Json] = None) -> "subprocess.CompletedProcess[str]":
        address = self.cluster.get("service", "sluice-server", self._system)["spec"]["clusterIP"]
        name = f"sluice-server.{self._system}.svc"
        given = ["--data-binary", "@-"] if body is not None else []
        return subprocess.run(
            self.cluster.on_network("curl", "-sS", "--fail-with-body", "--max-time", "60", "-X", method, "--cacert",
                                    self._folder / "ca.crt", "--connect-to", f"{name}:8080:{address}:8080", "-H",
                                    f"@{self._folder / 'headers'}", *given, f"https://{name}:8080/v1/admin{path}"),
            input=json.dumps(body) if body is not None else None, capture_output=True, text=True, timeout=90, check=False)

    def enforced(self) -> None:
        """Until every agent enforces what was written last."""
        revision = self.admin("GET", "/revision")["revision"]
        answer = self.admin("GET", f"/revisions/{revision}?wait=30s")
        assert answer["enforced_by_all"], answer

    def number(self) -> int:
        """Another one each time."""
        return next(self._numbers)

    def namespace(self) -> str:
        """A labelled namespace under "restricted", whose pods get the demo's policies and have an API key in a Secret."""
        name = f"apps-{self.number()}"
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": name, "labels": {**RESTRICTED, "sluice.dev/inject": "enabled"}}})
        self._labelled = name
        wait_until("the service account", lambda: self.cluster.try_kubectl(
            "get", "serviceaccount", "default", "-n", name).returncode == 0)
        self.admin("POST", "/bindings", {"namespace": name, "organization_id": "sluice", "tenant_ids": ["demo"]})
        key = self.admin("POST", "/keys", {"tenant_id": "demo", "name": name})["key"]
        self.cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sluice-key", "namespace": name},
                            "stringData": {"key": key}})
        return name

    def app(self, namespace: str, script: str = "", name: str = "app", annotations: Optional[dict[str, str]] = None,
            **spec: Any) -> "App":
        """A pod with one container, which runs the script (none: it waits to be told)."""
        container = app_container(script)
        # The finalizer: its end can be looked at.
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod",
                            "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {},
                                         "finalizers": ["sluice.dev/test"]},
                            "spec": {"containers": [container], "terminationGracePeriodSeconds": 20, **spec}})
        return App(self, namespace, name)

    def overlay(self, **settings: str) -> Path:
        """overlays/dev with two servers and these settings, as a folder for `kubectl apply -k`."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        literals = [f"SLUICE_SERVER_{name}={value}" for name, value in settings.items()]
        (folder / "kustomization.yaml").write_text(json.dumps({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
            "resources": [os.path.relpath(OVERLAY, folder.resolve())],
            "replicas": [{"name": "sluice-server", "count": 2}],
            "configMapGenerator": [{"name": "sluice-server", "namespace": self._system, "behavior": "merge", "literals": literals}]}))
        return folder


class App:
    """A pod that asks its agent."""

    def __init__(self, installed: Installed, namespace: str, name: str) -> None:
        self._cluster = installed.cluster
        self.namespace, self.name = namespace, name

    def read(self) -> Json:
        """The pod as it is now."""
        return self._cluster.get("pod", self.name, self.namespace)

    def ready(self) -> "App":
        """Once it is."""
        self._cluster.wait_for_pod(self.name, self.namespace, seconds=90)
        return self

    def agent_status(self) -> Json:
        """The sidecar's status."""
        found: Json = next(one for one in self.read()["status"]["initContainerStatuses"] if one["name"] == "sluice-agent")
        return found

    def run(self, script: str, seconds: float = 120) -> str:
        """What a script in the application's container printed."""
        return self._cluster.kubectl("exec", self.name, "-n", self.namespace, "-c", "app", "--", "sh", "-c", CHECK + script,
                                     seconds=seconds)

    def start(self, script: str) -> "subprocess.Popen[str]":
        """The same, while something else happens."""
        return self._follow("exec", self.name, "-n", self.namespace, "-c", "app", "--", "sh", "-c", CHECK + script)

    def log(self, container: str = "app") -> str:
        """What a container said."""
        return self._cluster.kubectl("logs", self.name, "-n", self.namespace, "-c", container)

    def follow_log(self) -> "subprocess.Popen[str]":
        """The application's, to its end."""
        return self._follow("logs", "-f", self.name, "-n", self.namespace, "-c", "app")

    def follow_readiness(self) -> "subprocess.Popen[str]":
        """A line at each change of the pod: whether it is ready."""
        return self._follow("get", "pod", self.name, "-n", self.namespace, "--watch", "-o",
                            'jsonpath={.status.conditions[?(@.type=="Ready")].status}{"\\n"}')

    def _follow(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(self._cluster.kubectl_command(*words), stdout=subprocess.PIPE, text=True)

    def processes(self, program: str) -> list[int]:
        """The pod's processes of a program, by their ids outside of the cluster."""
        uid = self.read()["metadata"]["uid"]

        def is_one(process: Path) -> bool:
            try:
                return (process / "comm").read_text().strip() == program and uid in (process / "cgroup").read_text()
            except OSError:
                return False   # it has ended

        return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and is_one(one)]

    def delete(self) -> None:
        """Asks for its end."""
        self._cluster.kubectl("delete", "pod", self.name, "-n", self.namespace, "--wait=false")

    def ended(self, seconds: float = 60) -> Json:
        """How the sidecar ended, after the deletion."""
        found: Json = wait_until("the agent's end", lambda: self.agent_status()["state"].get("terminated"), seconds)
        return found

    def forget(self) -> None:
        """Lets the pod go."""
        self._cluster.try_kubectl("patch", "pod", self.name, "-n", self.namespace, "--type=merge", "-p",
                                  '{"metadata":{"finalizers":null}}')
        self._cluster.try_kubectl("delete", "pod", self.name, "-n", self.namespace, "--wait=false", "--ignore-not-found")


MakeApp = Callable[..., App]
