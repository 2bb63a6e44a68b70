"""The format of the server's log: text on a terminal, JSON elsewhere, and what is asked for."""

import json
import os
import subprocess
from pathlib import Path

# Nobody listens there: the server says so at once, and tries again.
AWAY = ("--database-url", "postgresql://sluice_app@127.0.0.1:1/sluice", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")


def shown_on_terminal(program: Path, *flags: str) -> str:
    """The first line that a server shows on a terminal."""
    ours, theirs = os.openpty()
    server = subprocess.Popen([str(program), *AWAY, *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while b"\n" not in shown:
            shown += os.read(ours, 4096)
    finally:
        server.kill()
        server.wait(30)
        os.close(ours)
    return shown.decode().splitlines()[0]


def test_the_log_is_text_on_a_terminal_unless_json_is_asked_for(server_program: Path) -> None:
    assert " INFO  starting  The server is starting.  " in shown_on_terminal(server_program)
    assert json.loads(shown_on_terminal(server_program, "--log-format", "json"))["event"] == "starting"


def test_a_wrong_format_names_the_flag_the_value_and_the_rule(server_program: Path) -> None:
    done = subprocess.run([str(server_program), *AWAY, "--log-format", "xml"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done
    assert "--log-format" in done.stderr and '"xml"' in done.stderr and "must be auto, json or text" in done.stderr
