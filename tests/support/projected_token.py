"""A ServiceAccount's token as the kubelet projects it into a pod: the file's folder is a link that is swapped."""

import itertools
from pathlib import Path


class ProjectedToken:
    """The file `path`; rotate() puts another token in force, all at once."""

    def __init__(self, folder: Path, token: str) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        folder.mkdir()
        self.path = folder / "token"
        self.path.symlink_to("..data/token")
        self.rotate(token)

    def rotate(self, token: str) -> None:
        """As the kubelet does it."""
        name = f"..{next(self._numbers)}"
        (self._folder / name).mkdir()
        (self._folder / name / "token").write_text(token)
        (self._folder / "..new").symlink_to(name)
        (self._folder / "..new").rename(self._folder / "..data")
