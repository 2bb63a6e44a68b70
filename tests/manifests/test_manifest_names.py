"""Manifests, programs and guide call things by the same names: flags, variables, ports, paths, Secrets, images."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Optional

import pytest

from support.manifests import (K8S, OVERLAYS, SETS, SYSTEM, Object, containers, objects, one, pod_templates, rendered, set_name,
                               with_components)
from testbed.binary import OLDEST_KUSTOMIZE

GUIDE = (K8S.parent / "docs/guide/kubernetes.md").read_text()
# What an overlay may have beside: enough to see each object once.
EVERYTHING = ("overlays/ha", ("monitoring", "gateway", "customer-webhooks")), ("overlays/dev", ("cert-manager",)), (
    "overlays/dev-cluster", ("network-policy",)), ("overlays/single", ())


OF_THE_CLUSTER = ("Namespace", "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration", "PriorityClass")
OTHER = "limits"   # a namespace that a kustomization chooses


@pytest.fixture(params=EVERYTHING, ids=["ha", "dev", "dev-cluster", "single"])
def found(request: pytest.FixtureRequest, tmp_path: Path) -> list[Object]:
    """Every object of an overlay with components."""
    return objects(rendered(with_components(tmp_path, *request.param)))


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> list[Object]:
    """An overlay as it is."""
    return objects(rendered(K8S / "overlays" / request.param))


@cache
def help_of(program: Path, *command: str) -> str:
    """What --help says."""
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def ours(template: Object) -> Iterator[tuple[Object, str, list[str]]]:
    """The containers of a template that run one of our programs: itself, the program's name, what follows that."""
    for container in containers(template):
        program, *words = container.get("command", [""])
        if program.startswith("/usr/bin/sluice-"):
            yield container, Path(program).name, [*words, *container.get("args", [])]


def variables(found: list[Object], container: Object) -> dict[str, Optional[str]]:
    """What the container is given; None where a Secret or the pod says it."""
    given: dict[str, Optional[str]] = {}
    for source in container.get("envFrom", []):
        given |= one(found, "ConfigMap", source["configMapRef"]["name"])["data"]
    return given | {entry["name"]: entry.get("value") for entry in container.get("env", [])}


def test_each_variable_and_flag_is_one_of_the_program(found: list[Object], program: Path, server_program: Path) -> None:
    programs = {"sluice-agent": program, "sluice-server": server_program}
    seen = 0
    for name, template in pod_templates(found):
        for container, which, words in ours(template):
            prefix = which.replace("-", "_").upper() + "_"
            command = [word for word in words if not word.startswith("-")]
            known = help_of(programs[which]) + (help_of(programs[which], *command) if command else "")
            for variable in variables(found, container):
                assert variable == "POD_NAME" or f"env: {variable}]" in known, f"{name}: {which} has no {variable}"
                seen += variable.startswith(prefix)
            for flag in (word.partition("=")[0] for word in words if word.startswith("-")):
                assert re.search(rf"^  {flag}\b", known, re.M), f"{name}: {which} {' '.join(command)} has no {flag}"
    assert seen > 15


def test_no_variable_of_kubernetes_own_is_taken_for_a_flag(found: list[Object]) -> None:
    for name, template in pod_templates(found):
        if any(True for _ in ours(template)):
            assert template["spec"]["enableServiceLinks"] is False, name


def ports_of(template: Object) -> dict[str, int]:
    """Name → number, of all containers."""
    return {port["name"]: port["containerPort"] for container in containers(template) for port in container.get("ports", [])}


def selected(found: list[Object], labels: dict[str, str]) -> list[Object]:
    """Templates of pods with these labels."""
    return [template for _, template in pod_templates(found) if labels.items() <= template["metadata"]["labels"].items()]


def test_services_lead_to_ports_that_are_there_and_monitors_to_services(found: list[Object]) -> None:
    services = [item for item in found if item["kind"] == "Service"]
    for service in services:
        templates = selected(found, service["spec"]["selector"])
        assert len(templates) == 1, service["metadata"]["name"]
        for port in service["spec"]["ports"]:
            assert port["targetPort"] in ports_of(templates[0]), f"{service['metadata']['name']} {port}"
    for monitor in (item for item in found if item["kind"] == "ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        chosen = [service for service in services if wanted.items() <= service["metadata"]["labels"].items()]
        assert [service["metadata"]["name"] for service in chosen] == ["sluice-server"]
        names = {port["name"] for port in chosen[0]["spec"]["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= names


def test_the_ports_are_those_that_the_programs_listen_on(found: list[Object]) -> None:
    for name, template in pod_templates(found):
        for container, _, words in ours(template):
            if words:
                continue   # a command that ends
            listens = {value.rpartition(":")[2] for variable, value in variables(found, container).items()
                       if value and variable.rpartition("_")[2] in ("LISTEN", "ADMIN", "WEBHOOK")}
            assert {str(port["containerPort"]) for port in container["ports"]} == listens, name


def test_sidecars_and_gateways_are_scraped_at_one_port(tmp_path: Path) -> None:
    found = objects(rendered(with_components(tmp_path, "overlays/ha", ("monitoring", "gateway"))))
    names = (K8S.parent / "server/injector/names.hpp").read_text()
    container = re.search(r'kContainer = "([^"]+)"', names)
    number = re.search(r"kAdminPort = (\d+)", names)
    assert container and number
    endpoint = one(found, "PodMonitor", "sluice-agents")["spec"]["podMetricsEndpoints"][0]
    gateway = one(found, "Deployment", "sluice-gateway")["spec"]["template"]
    assert gateway["spec"]["containers"][0]["name"] == container[1] == endpoint["relabelings"][0]["regex"]
    assert ports_of(gateway)[endpoint["port"]] == int(number[1])


def test_probes_ask_for_what_is_served(found: list[Object]) -> None:
    for name, template in pod_templates(found):
        for container, which, words in ours(template):
            paths = {kind: container.get(kind, {}).get("httpGet", {}).get("path")
                     for kind in ("startupProbe", "readinessProbe", "livenessProbe")}
            started = "/startupz" if which == "sluice-agent" else "/livez"
            expected = {"startupProbe": started, "readinessProbe": "/readyz", "livenessProbe": "/livez"}
            assert paths == (dict.fromkeys(expected) if words else expected), name


def seconds(text: str) -> int:
    """Of a duration such as 20s or 5m."""
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def test_the_kubelet_waits_for_as_long_as_a_stop_takes(found: list[Object]) -> None:
    checked = 0
    for name, template in pod_templates(found):
        for container, which, words in ours(template):
            drain = variables(found, container).get(f"{which.replace('-', '_').upper()}_DRAIN_TIMEOUT")
            if words or not drain:
                continue
            before = container["lifecycle"]["preStop"]["sleep"]["seconds"]
            own = 8 if which == "sluice-server" else 1   # what a server stores after the drain (server/app.cpp)
            assert template["spec"]["terminationGracePeriodSeconds"] >= before + seconds(drain) + own + 5, name
            checked += 1
    assert checked


def references(value: Any) -> Iterator[tuple[str, Optional[str], bool]]:
    """Each Secret that is named below, its keys, whether it may be absent."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for part, inner in value.items():
            if part == "secretKeyRef":
                yield inner["name"], inner["key"], inner.get("optional", False)
            elif part == "secret" and isinstance(inner, dict):
                for item in inner["items"]:
                    yield inner.get("name") or inner["secretName"], item["key"], inner.get("optional", False)
            else:
                yield from references(inner)


def test_secrets_are_made_by_somebody_and_stand_in_the_guide(found: list[Object]) -> None:
    made = {"sluice-tls": {"tls.crt", "tls.key", "ca.crt"}, "sluice-gateway-tls": {"tls.crt", "tls.key"},
            "sluice-webhooks": {"key"}}   # the last one by the operator
    source = (K8S.parent / "server/kubernetes/make_secrets.cpp").read_text()
    for name in ("sluice-database", "sluice-redis"):
        text = re.split(r"NewSecret|return", source.split(f'"{name}"')[1])[0]
        made[name] = set(re.findall(r'\{"([a-z-]+)",', text))
    for _, template in pod_templates(found):
        for name, key, optional in references(template["spec"]):
            assert optional or key in made[name], f"{name}/{key}"
            assert f"`{name}`" in GUIDE and f"`{key}`" in GUIDE, f"{name}/{key} is not in the guide"


@pytest.mark.parametrize("url", ["redis://redis.example:6379/2", "rediss+sentinel://a,b,c/main", "rediss+cluster://a,b,c"])
def test_one_variable_names_the_redis_of_servers_sidecars_and_gateways(tmp_path: Path, url: str) -> None:
    found = objects(rendered(with_components(tmp_path, "overlays/ha", ("gateway",), f"SLUICE_SERVER_COUNTERS={url}")))
    server = containers(one(found, "Deployment", "sluice-server")["spec"]["template"])[-1]
    assert variables(found, server)["SLUICE_SERVER_COUNTERS"] == url
    assert "SLUICE_SERVER_INJECT_COUNTERS" not in variables(found, server)   # the server's own is the default
    gateway = containers(one(found, "Deployment", "sluice-gateway")["spec"]["template"])[0]
    source = next(entry for entry in gateway["env"] if entry["name"] == "SLUICE_AGENT_COUNTERS")["valueFrom"]["configMapKeyRef"]
    assert source == {"name": one(found, "ConfigMap", "sluice-server")["metadata"]["name"], "key": "SLUICE_SERVER_COUNTERS"}


def admits(rules: list[Object], address: str, port: int) -> bool:
    """Whether one of the rules lets pods call this address and TCP port."""
    def to(rule: Object) -> bool:
        inside = [ip_address(address) in ip_network(block["cidr"]) and not any(ip_address(address) in ip_network(spared)
                                                                               for spared in block.get("except", []))
                  for block in (peer["ipBlock"] for peer in rule["to"])]
        return any(inside)

    return any(to(rule) and any(given["port"] <= port <= given.get("endPort", given["port"]) for given in rule["ports"]) for rule in rules)


def test_with_the_component_servers_have_the_key_of_customers_webhooks(tmp_path: Path) -> None:
    found = objects(rendered(with_components(tmp_path, "base", ("customer-webhooks",))))
    template = one(found, "Deployment", "sluice-server")["spec"]["template"]
    migrate, server = containers(template)
    path = variables(found, server)["SLUICE_SERVER_NOTIFY_SECRET_FILE"]
    mount = next(mount for mount in server["volumeMounts"] if mount["name"] == "webhooks")
    volume = next(volume for volume in template["spec"]["volumes"] if volume["name"] == "webhooks")
    assert path == mount["mountPath"] + "/key" and mount["readOnly"] is True
    assert ("sluice-webhooks", "key", False) in set(references(volume)), "the servers wait for the Secret"
    assert "webhooks" not in {mount["name"] for mount in migrate["volumeMounts"]}
    # A policy alone would close every other way out.
    assert not [item for item in found if item["kind"] == "NetworkPolicy"]


@pytest.mark.parametrize("base, components", [("overlays/ha", ()), ("overlays/single", ()), ("overlays/dev", ("network-policy",))],
                         ids=["ha", "single", "dev"])
def test_with_network_policies_servers_may_call_receivers_of_the_public_internet_if_it_is_wanted(
        base: str, components: tuple[str, ...], tmp_path: Path) -> None:
    def egress(*more: str) -> list[Object]:
        found = objects(rendered(with_components(tmp_path / "-".join(("set", *more)), base, (*components, *more))))
        return list(one(found, "NetworkPolicy", "sluice-server")["spec"]["egress"])

    before, after = egress(), egress("customer-webhooks")
    assert after[:-1] == before and not any("ipBlock" in str(rule) for rule in before)
    for address in ("93.184.216.34", "2606:2800:220:1::1"):
        assert [port for port in (22, 25, 80, 443, 1023, 1024, 8443, 65535) if admits(after[-1:], address, port)] == [443, 1024, 8443, 65535]
    for address in ("10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "169.254.169.254", "127.0.0.1", "fd00::1", "fe80::1", "::1"):
        assert not admits(after[-1:], address, 443) and not admits(after[-1:], address, 8443), address


def from_config_map(container: Object, variable: str) -> dict[str, Any]:
    """The reference from which the container has its variable."""
    entry = next(entry for entry in container["env"] if entry["name"] == variable)
    return dict(entry["valueFrom"]["configMapKeyRef"])


@pytest.mark.parametrize("overlay", OVERLAYS, indirect=True)
def test_clear_text_is_allowed_in_the_overlays_with_stores_and_nowhere_else(overlay: list[Object], request: pytest.FixtureRequest) -> None:
    server = containers(one(overlay, "Deployment", "sluice-server")["spec"]["template"])[-1]
    given = variables(overlay, server)
    with_stores = request.node.callspec.params["overlay"] != "ha"
    for variable in ("SLUICE_SERVER_INSECURE_DATABASE", "SLUICE_SERVER_INSECURE_REDIS"):
        assert given.get(variable) == ("true" if with_stores else None), variable
    counters = given["SLUICE_SERVER_COUNTERS"] or ""
    assert counters.startswith("redis") if with_stores else "rediss://" in counters, counters


def test_one_variable_allows_clear_text_to_servers_init_containers_and_gateways(tmp_path: Path) -> None:
    found = objects(rendered(with_components(tmp_path, "overlays/dev", ("gateway",))))
    config = one(found, "ConfigMap", "sluice-server")
    migrate, server = containers(one(found, "Deployment", "sluice-server")["spec"]["template"])
    assert variables(found, server)["SLUICE_SERVER_INSECURE_DATABASE"] == "true"
    gateway = containers(one(found, "Deployment", "sluice-gateway")["spec"]["template"])[0]
    for container, variable, key in ((migrate, "SLUICE_SERVER_INSECURE_DATABASE", "SLUICE_SERVER_INSECURE_DATABASE"),
                                     (gateway, "SLUICE_AGENT_INSECURE_REDIS", "SLUICE_SERVER_INSECURE_REDIS")):
        assert from_config_map(container, variable) == {"name": config["metadata"]["name"], "key": key, "optional": True}
        assert config["data"][key] == "true"


def test_sidecars_are_of_the_image_that_the_servers_are(overlay: list[Object]) -> None:
    containers_of_server = containers(one(overlay, "Deployment", "sluice-server")["spec"]["template"])
    server = containers_of_server[-1]
    assert variables(overlay, server)["SLUICE_SERVER_INJECT_IMAGE"] == server["image"]
    assert {container["image"] for container in containers_of_server} == {server["image"]}


def test_every_container_says_what_it_needs(found: list[Object]) -> None:
    for name, template in pod_templates(found):
        for container in containers(template):
            resources = container["resources"]
            assert set(resources["requests"]) == {"cpu", "memory"}, name
            assert set(resources["limits"]) == {"memory"}, f"{name}: a limit of CPU delays every answer"
            assert container["imagePullPolicy"] == "IfNotPresent" and not container["image"].endswith(":latest"), name
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name


def test_every_object_says_what_it_is_a_part_of(overlay: list[Object]) -> None:
    for item in overlay:
        labels = item["metadata"]["labels"]
        assert labels["app.kubernetes.io/part-of"] == "sluice" and "app.kubernetes.io/version" in labels, item["metadata"]["name"]
        if item["kind"] not in OF_THE_CLUSTER:
            assert item["metadata"]["namespace"] == SYSTEM, item["metadata"]["name"]


def test_the_webhook_leaves_the_cluster_and_sluice_alone_and_fails_as_it_is_written(overlay: list[Object], request: pytest.FixtureRequest) -> None:
    hook = one(overlay, "MutatingWebhookConfiguration", "sluice-injector")["webhooks"][0]
    spared = {name for rule in hook["namespaceSelector"]["matchExpressions"] if rule["operator"] == "NotIn" for name in rule["values"]}
    assert spared == {"kube-system", "kube-public", "kube-node-lease"}
    # Sluice's own namespace is known by a label that it has under any name.
    own = [rule["key"] for rule in hook["namespaceSelector"]["matchExpressions"] if rule["operator"] == "DoesNotExist"]
    assert len(own) == 1 and own[0] in one(overlay, "Namespace", SYSTEM)["metadata"]["labels"]
    assert hook["failurePolicy"] == ("Fail" if request.node.callspec.params["overlay"] == "ha" else "Ignore")
    assert hook["timeoutSeconds"] <= 3 and "caBundle" not in hook["clientConfig"]


@pytest.mark.parametrize("base, components", SETS, ids=map(set_name, SETS))
def test_one_line_of_a_kustomization_changes_the_namespace_everywhere(base: str, components: tuple[str, ...], tmp_path: Path) -> None:
    transformers = ("cert-manager",) if "cert-manager" in components else ()
    text = rendered(with_components(tmp_path, base, components, "SLUICE_SERVER_DATABASE_POOL=7", namespace=OTHER, transformers=transformers))
    assert SYSTEM not in text
    found = objects(text)
    assert one(found, "Namespace", OTHER)["metadata"]["labels"]["sluice.dev/system"] == "true"
    assert {item["metadata"]["namespace"] for item in found if item["kind"] not in OF_THE_CLUSTER} == {OTHER}
    for binding in (item for item in found if item["kind"].endswith("RoleBinding")):
        assert [subject["namespace"] for subject in binding["subjects"]] == [OTHER], binding["metadata"]["name"]
    for hook in (hook for item in found if item["kind"] == "MutatingWebhookConfiguration" for hook in item["webhooks"]):
        assert hook["clientConfig"]["service"] == {"name": "sluice-injector", "namespace": OTHER, "path": "/v1/inject", "port": 443}


def test_cert_manager_certifies_the_names_that_services_have_in_the_namespace(tmp_path: Path) -> None:
    for namespace, transformers in ((SYSTEM, ()), (OTHER, ("cert-manager",))):
        folder = with_components(tmp_path / namespace, "overlays/ha", ("gateway", "cert-manager"), namespace=namespace,
                                 transformers=transformers)
        found = objects(rendered(folder))
        assert objects(rendered(folder, OLDEST_KUSTOMIZE)) == found
        names = {item["metadata"]["name"]: item["spec"].get("dnsNames") for item in found if item["kind"] == "Certificate"}
        of_server = [f"sluice-server.{namespace}{domain}" for domain in (".svc", ".svc.cluster.local", "")]
        assert names["sluice-tls"] == [*of_server, "sluice-server", "localhost", f"sluice-injector.{namespace}.svc"]
        assert names["sluice-gateway-tls"] == [name.replace("server", "gateway") for name in [*of_server, "sluice-server"]]
        webhook = one(found, "MutatingWebhookConfiguration", "sluice-injector")
        assert webhook["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] == f"{namespace}/sluice-tls"


def test_a_kustomization_that_names_the_default_namespace_in_its_settings_still_works(tmp_path: Path) -> None:
    folder = with_components(tmp_path, "overlays/ha", (), "SLUICE_SERVER_DATABASE_POOL=7")
    file = folder / "kustomization.yaml"
    file.write_text(file.read_text().replace("name: sluice-server", f"name: sluice-server\n  namespace: {SYSTEM}"))
    assert one(objects(rendered(folder)), "ConfigMap", "sluice-server")["data"]["SLUICE_SERVER_DATABASE_POOL"] == "7"


@pytest.mark.parametrize("overlay", ["single", "ha"], indirect=True)
def test_what_pods_of_labelled_namespaces_wait_for_has_a_priority(overlay: list[Object]) -> None:
    made = one(overlay, "PriorityClass", "sluice-servers")
    assert made["value"] == 1_000_000_000 and made["preemptionPolicy"] == "PreemptLowerPriority"   # more is the cluster's own
    for name, template in pod_templates(overlay):
        expected = None if name == "Job sluice-make-secrets" else "sluice-servers"
        assert template["spec"].get("priorityClassName") == expected, name


@pytest.mark.parametrize("overlay", ["single"], indirect=True)
def test_the_stores_of_single_keep_their_data_on_volumes_and_can_be_upgraded(overlay: list[Object]) -> None:
    for name in ("sluice-postgres", "sluice-redis"):
        store = one(overlay, "StatefulSet", name)["spec"]
        volumes = {volume["name"]: volume for volume in store["template"]["spec"]["volumes"]}
        assert volumes["data"] == {"name": "data", "persistentVolumeClaim": {"claimName": name}}
        assert one(overlay, "PersistentVolumeClaim", name)["spec"]["accessModes"] == ["ReadWriteOnce"]
        # Kubernetes refuses every change of a template of claims, and kustomize would put the version's label there.
        assert "volumeClaimTemplates" not in store
        # The kubelet must not open PostgreSQL's folder to the group at each start.
        assert store["template"]["spec"]["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
        container = store["template"]["spec"]["containers"][0]
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container), name
    policies = {item["metadata"]["name"] for item in overlay if item["kind"] == "NetworkPolicy"}
    assert {"sluice-default", "sluice-postgres", "sluice-redis"} <= policies
