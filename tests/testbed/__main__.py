"""A throw-away Kubernetes cluster for tests, without an image or a release downloaded.

  scripts/kube-cluster build                     kube-testbed, the binary; prints its path
  scripts/kube-cluster start DIR [--node] [...]  prints the administrator's kubeconfig when all is ready
  scripts/kube-cluster exec DIR COMMAND...       with KUBECONFIG set; with a node, on the cluster's network
  scripts/kube-cluster load DIR ARCHIVE...       image archives (OCI or Docker) for the node
  scripts/kube-cluster stop DIR
  scripts/kube-cluster check [--node]            says what this machine lacks; exit status 1 where it does
  scripts/kube-cluster render FOLDER             what "kubectl apply -k FOLDER" would apply; needs no cluster

Certificates, data, logs and pid files live in DIR. It may be started again, with the same data and, where they are
free, the same ports. Each DIR is a cluster of its own. exec knows kubectl: it is in the binary.

Without --node, as any user: etcd, API server and controllers on the loopback, in 4 seconds. With --node, as root and on
cgroup v1: also scheduler, kube-proxy, DNS and a kubelet with containerd, in network, mount and pid namespaces of their
own; pods really run.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from testbed.binary import KUSTOMIZE, binary_path, build
from testbed.cluster import Cluster
from testbed.failure import Failure
from testbed.requirements import missing


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/kube-cluster", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="build|start|exec|load|stop|check|render")
    commands.add_parser("build", help="the binary, where it is missing")
    check = commands.add_parser("check", help="what is missing here")
    check.add_argument("--node", action="store_true")
    commands.add_parser("render", help="manifests, as kustomize makes them").add_argument("folder", type=Path)
    start = commands.add_parser("start", help="a cluster in DIR")
    start.add_argument("dir", type=Path)
    start.add_argument("--node", action="store_true", help="with a node that runs pods (root, cgroup v1)")
    start.add_argument("--no-manager", action="store_true",
                       help="no controllers: a second less, but no service account 'default', so no pods, and no deployments")
    start.add_argument("--api-arg", action="append", default=[], metavar="--FLAG=VALUE", help="one more flag of the API server")
    start.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="for each component (default 120)")
    start.add_argument("--binary", type=Path, help="this one instead of the one that build makes")
    for name, what in (("exec", "COMMAND"), ("load", "ARCHIVE")):
        command = commands.add_parser(name)
        command.add_argument("dir", type=Path)
        command.add_argument("words", nargs=argparse.REMAINDER, metavar=what)
    commands.add_parser("stop").add_argument("dir", type=Path)
    given = parser.parse_args()
    if given.command in ("exec", "load") and not given.words:
        parser.error(f"{given.command} needs something more than DIR")
    if given.command == "start" and given.node and given.no_manager:
        parser.error("--node needs the manager: without it no pod is admitted")
    return given


def run(given: argparse.Namespace) -> int:
    """One command; the exit status."""
    if given.command == "build":
        print(build())
    elif given.command == "check":
        faults = missing(given.node)
        print("\n".join(faults) or "nothing is missing")
        return 1 if faults else 0
    elif given.command == "start":
        binary = given.binary.resolve() if given.binary else build()
        print(Cluster(given.dir).start(binary, given.timeout, given.node, not given.no_manager, given.api_arg))
    elif given.command == "render":
        return subprocess.run([build(KUSTOMIZE), given.folder], check=False).returncode
    elif given.command == "exec":
        Cluster(given.dir).exec(given.words, binary_path())
    elif given.command == "load":
        Cluster(given.dir).load([Path(word) for word in given.words])
    else:
        Cluster(given.dir).stop()
    return 0


def main() -> int:
    """0 good; 1 it could not; 2 faulty arguments."""
    try:
        return run(arguments())
    except Failure as failure:
        print(f"kube-cluster: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
