#!/usr/bin/env python3
"""Compares two interfaces of a library that abidw has written.

Exit status 0 if a program that was compiled for BASE runs with NEW. abidiff compares all but the structs that ALLOWED
names. Those may grow: their members in BASE must be the first in NEW, with the same types at the same places.
"""
import argparse
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

SIMPLE = ("type-decl", "enum-decl", "function-type", "array-type-def")


class Interface:
    def __init__(self, path):
        self.root = xml.parse(path).getroot()
        self.by_id = {node.get("id"): node for node in self.root.iter() if node.get("id")}

    def type_name(self, type_id, way=()):
        """A type as text; of a struct also its members, as far as they are known."""
        node = self.by_id[type_id]
        if type_id in way:
            return node.get("name") or node.tag
        inner = node.get("type-id")
        if inner and node.tag not in SIMPLE:
            return f"{node.tag} {node.get('name') or ''} of {self.type_name(inner, (*way, type_id))}"
        members = "; ".join(" ".join(member) for member in self.members(node, (*way, type_id)))
        return f"{node.tag} {node.get('name') or ''} {node.get('size-in-bits') or ''} {{{members}}}"

    def members(self, node, way=()):
        for member in node.findall("data-member"):
            variable = member.find("var-decl")
            yield member.get("layout-offset-in-bits") or "", variable.get("name"), self.type_name(variable.get("type-id"), way)

    def structs(self, names):
        return {node.get("name"): list(self.members(node, (node.get("id"),))) for node in self.root.iter("class-decl")
                if re.search(names, node.get("name") or "") and node.find("data-member") is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE", help="the interface that programs were compiled for")
    parser.add_argument("new", metavar="NEW", help="the interface that they would meet")
    parser.add_argument("allowed", metavar="ALLOWED", help="suppressions for abidiff: the structs that may grow")
    given = parser.parse_args()
    base, new, allowed = given.base, given.new, given.allowed
    code = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", allowed, base, new], check=False).returncode
    with open(allowed, encoding="utf-8") as file:
        names = re.search(r"name_regexp = (\S+)", file.read()).group(1)
    after = Interface(new).structs(names)
    for name, members in Interface(base).structs(names).items():
        for at, member in enumerate(members):
            found = after.get(name, [])[at:at + 1]
            if found != [member]:
                print(f"{name}: the member {member[1]} was removed, moved or given another type: add members at the end only")
                code |= 4
                break
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
