"""Checks that every example of the description fits its own schema: python examples.py openapi.json.

Runs in schemathesis' environment, which has a validator.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

Place = tuple[str, ...]


def media_types(value: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Whatever has a schema and examples, with the names that lead there."""
    if isinstance(value, dict):
        if "schema" in value and ("example" in value or "examples" in value):
            yield place, value
        for name, item in value.items():
            yield from media_types(item, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from media_types(item, (*place, str(index)))


def examples_of(media: dict[str, Any]) -> Iterator[Any]:
    """The one, or each of several."""
    if "example" in media:
        yield media["example"]
    for item in media.get("examples", {}).values():
        yield item["value"]


def main() -> int:
    """The exit status."""
    document = json.loads(Path(sys.argv[1]).read_text())
    checked, faults = 0, []
    for place, media in media_types({"paths": document["paths"], "components": document["components"]}):
        validator = jsonschema_rs.Draft202012Validator({**media["schema"], "components": document["components"]},
                                                       validate_formats=True)
        for example in examples_of(media):
            checked += 1
            faults += [f"{'/'.join(place)}: {error.message}" for error in validator.iter_errors(example)]
    for name, schema in document["components"]["schemas"].items():
        validator = jsonschema_rs.Draft202012Validator({"$ref": f"#/components/schemas/{name}",
                                                        "components": document["components"]}, validate_formats=True)
        for example in schema.get("examples", []):
            checked += 1
            faults += [f"schemas/{name}: {error.message}" for error in validator.iter_errors(example)]
    for fault in faults:
        print(f"failed: an example does not fit: {fault[:400]}")
    print(f"{checked} examples of the description, {len(faults)} faults")
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
