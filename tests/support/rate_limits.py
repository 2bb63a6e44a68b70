"""Envoy's rate limit service over HTTP: folders with files of envoyproxy/ratelimit, and requests."""

import json
from pathlib import Path
from typing import Any, Union

from support.client import Answer, Client

# A descriptor is a list of its entries; its other fields stand behind them.
Entries = list[tuple[str, str]]
Descriptor = Union[Entries, dict[str, Any]]


def write_config(folder: Path, **files: str) -> Path:
    """A folder with these files; each keyword is a file's name without `.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def limited(*entries: tuple[str, str], **fields: Any) -> dict[str, Any]:
    """A descriptor with further fields, such as hitsAddend=2."""
    return {"entries": [{"key": key, "value": value} for key, value in entries], **fields}


def message(domain: str, *descriptors: Descriptor, **fields: Any) -> str:
    """A RateLimitRequest as JSON."""
    return json.dumps({"domain": domain, "descriptors": [
        each if isinstance(each, dict) else limited(*each) for each in descriptors], **fields})


def ask(client: Client, domain: str, *descriptors: Descriptor, **fields: Any) -> Answer:
    """POST /json."""
    return client.post("/json", message(domain, *descriptors, **fields))


def codes(answer: Answer) -> tuple[int, str, list[str]]:
    """The status, the overall code, and the code of each descriptor."""
    return answer.status, answer.body["overallCode"], [status["code"] for status in answer.body["statuses"]]
