"""What the marker `alone` promises to a test of this folder: no other test beside it, and no endless wait for its turn."""

import fcntl
import threading
from pathlib import Path

from support.alone import Turns
from support.process import wait_until


def is_held(lock: Path) -> bool:
    """Whether somebody has the lock."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_test_that_is_alone_waits_for_the_others_and_those_after_it_wait_for_it(tmp_path: Path) -> None:
    seen: list[str] = []
    others_turn = threading.Event()

    def run(name: str, alone: bool) -> None:
        with Turns(tmp_path).turn(alone):
            seen.append(f"{name} begins")
            if alone:
                others_turn.wait(0.2)   # set by nobody who keeps the promise
            else:
                others_turn.set()
            seen.append(f"{name} ends")

    threads = [threading.Thread(target=run, args=("alone", True)), threading.Thread(target=run, args=("other", False))]
    with Turns(tmp_path).turn(False), Turns(tmp_path).turn(False):   # two that are not alone go together
        threads[0].start()
        wait_until("the one that is alone to be next", lambda: is_held(tmp_path / "turns.queue"))
        threads[1].start()
        assert seen == []
    for thread in threads:
        thread.join()
    assert seen == ["alone begins", "alone ends", "other begins", "other ends"]
