"""An agent starts with its last good state only if nobody else can have written it; a former version's files still count."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.client import Client
from support.crew import SECONDS, Crew
from support.process import wait_until

MakeCrew = Callable[..., Crew]
SOMEBODY = 65532


def hired(crew: Crew) -> tuple[Agent, Path]:
    """An agent that ended with a state on its disk, and the folder of that; the server cannot be reached any more."""
    agent, = crew.hire(1)
    crew.await_limit(1000)
    folder = crew.folder / "agent-0.snapshot.state"
    wait_until("a saved state", lambda: any(folder.glob("[12]")), SECONDS)
    assert agent.stop() == 0
    crew.relay.close()
    return agent, folder


def refusal(agent: Agent) -> dict[str, Any]:
    """The one line that says why the agent started without a state; at its first start there was none."""
    first, line = [entry for entry in map(json.loads, agent.process.output().splitlines())
                   if entry["event"] == "last_known_good_unused"]
    assert first["code"] == "no_snapshot_file"
    return dict(line)


def asked(crew: Crew, agent: Agent) -> tuple[int, str]:
    """Status and reason of a check."""
    with Client(agent.port, crew.key) as client:
        answer = client.check(resource="GET:/probe", subject="a")
    return answer.status, answer.body.get("reason", "")


def give_away(*paths: Path) -> None:
    """Lets them belong to another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in paths:
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)


def is_private(path: Path, mode: int) -> bool:
    """Whether it is this user's, with just this mode."""
    found = path.stat()
    return found.st_uid == os.geteuid() and found.st_mode & 0o7777 == mode


def for_everybody(folder: Path) -> None:
    """As kubelet leaves a folder in a pod with an fsGroup."""
    folder.chmod(0o2770)


def with_files_of_somebody(folder: Path) -> None:
    give_away(*folder.glob("[12]"))


def with_open_files(folder: Path) -> None:
    for file in folder.glob("[12]"):
        file.chmod(0o660)


@pytest.mark.parametrize("spoil, said", [(for_everybody, "has mode 2770"), (with_files_of_somebody, f"belongs to user {SOMEBODY}"),
                                         (with_open_files, "has mode 0660")])
def test_a_state_that_others_can_have_written_is_refused_once_and_the_next_start_is_good(
        make_crew: MakeCrew, spoil: Callable[[Path], None], said: str) -> None:
    crew = make_crew()
    agent, folder = hired(crew)
    spoil(folder)
    agent.start_without_policies()
    assert asked(crew, agent) == (503, "no_snapshot")
    line = refusal(agent)
    assert (line["level"], line["code"]) == ("warn", "snapshot_file_untrusted") and said in line["reason"], line
    crew.relay.open()
    crew.await_limit(1000)   # the agent goes on as without a state
    wait_until("a state that is trusted", lambda: is_private(folder, 0o700) and any(is_private(file, 0o600) for file in
                                                                                  folder.glob("[12]")), SECONDS)
    assert agent.stop() == 0
    crew.relay.close()
    agent.start()
    assert crew.limit_at(agent) == 1000


@pytest.mark.parametrize("link", [False, True], ids=["another user's", "a link"])
def test_a_folder_of_somebody_else_is_left_alone_and_the_agent_says_so(make_crew: MakeCrew, link: bool) -> None:
    crew = make_crew()
    agent, folder = hired(crew)
    if link:
        elsewhere = folder.rename(folder.with_name("elsewhere"))
        folder.symlink_to(elsewhere)
    else:
        elsewhere = folder
        give_away(folder)
    before = {file.name: file.read_bytes() for file in elsewhere.iterdir()}
    agent.start_without_policies()
    assert asked(crew, agent) == (503, "no_snapshot")
    assert refusal(agent)["code"] == "snapshot_file_untrusted"
    crew.relay.open()
    crew.await_limit(1000)

    def problems() -> str:
        with Client(agent.admin_port) as probe:
            return str(probe.get("/readyz").body)
    wait_until("the problem at /readyz", lambda: "cannot be saved" in problems() and "remove it" in problems(), SECONDS)
    assert {file.name: file.read_bytes() for file in elsewhere.iterdir()} == before
    if link:
        folder.unlink()
    else:
        shutil.rmtree(folder)
    with crew.admin() as admin:
        crew.set_limit(admin, 77)
    wait_until("a state in a new folder", lambda: any(folder.glob("[12]")), SECONDS)
    wait_until("no problem", lambda: "cannot be saved" not in problems(), SECONDS)


def test_the_files_of_a_former_version_are_loaded_and_moved_once_the_server_confirms_them(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, folder = hired(crew)
    path = folder.with_suffix("")
    crew.folder.chmod(0o777)   # as a volume of Kubernetes
    for name in ("1", "2", "lock"):
        if (folder / name).exists():
            (folder / name).rename(f"{path}.{name}")
    folder.rmdir()
    agent.start()
    assert crew.limit_at(agent) == 1000
    assert not folder.exists(), "nothing was confirmed yet"
    crew.relay.open()
    wait_until("the files in their folder", lambda: any(folder.glob("[12]")), SECONDS)
    wait_until("nothing beside it", lambda: not list(crew.folder.glob("agent-0.snapshot.[12ln]*")), SECONDS)
    assert agent.stop() == 0
    crew.relay.close()
    agent.start()
    assert crew.limit_at(agent) == 1000


def test_a_former_versions_file_that_others_may_write_is_refused(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, folder = hired(crew)
    path = folder.with_suffix("")
    for file in folder.glob("[12]"):
        file.chmod(0o666)
        file.rename(f"{path}.{file.name}")
    shutil.rmtree(folder)
    agent.start_without_policies()
    assert asked(crew, agent) == (503, "no_snapshot")
    assert refusal(agent)["code"] == "snapshot_file_untrusted"
