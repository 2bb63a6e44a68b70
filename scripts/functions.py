"""Finds the functions of a C++ or Lua source: their names and where they begin and end.

This is no parser. It reads brackets, strings and comments, and knows from the text before a bracket what it opens: that
is enough for sources that clang-format has laid out. Preprocessor conditions are not evaluated.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, Optional


class Function(NamedTuple):
    """A function's definition, from its head to its closing bracket."""

    name: str   # with namespaces and classes: sluice::redis::Pipeline::expire
    start: int
    end: int


CPP_SKIPPED = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"
                             |(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:\\\n|[^\n])*""", re.DOTALL | re.MULTILINE | re.VERBOSE)
LUA_SKIPPED = re.compile(r"""--\[(?P<tag>=*)\[.*?\](?P=tag)\]|--[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)

NAMESPACE = re.compile(r"\bnamespace\b\s*([\w:]*)\s*$")
TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*)?(?:alignas\([^)]*\)\s*)?([\w:]+)")
NAME = re.compile(r"(?:[\w:~]|<[^<>()]*>::)*(?:\boperator\s*(?:\(\)|\[\]|[^\s\w(]+|\s[\w:]+)|[\w~]+)$")

OPERATOR = re.compile(r"\boperator\b")


def blank(text: str, skipped: re.Pattern[str], begins: tuple[str, ...] = ("",)) -> str:
    """The text with spaces in place of comments, strings and directives (those with such a beginning); positions stay."""
    return skipped.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0].startswith(begins) else found[0], text)


def without_comments(path: str, text: str) -> str:
    """The text with spaces in place of its comments; positions stay."""
    return blank(text, LUA_SKIPPED, ("--",)) if path.endswith(".lua") else blank(text, CPP_SKIPPED, ("//", "/*"))


def function_name(head: str) -> Optional[str]:
    """The name of the function that a head declares; None where it declares none."""
    head = re.sub(r"\[\[.*?\]\]", lambda found: " " * len(found[0]), head)
    depth = angles = 0
    for at, sign in enumerate(head):
        if sign == "(" and depth == 0 and angles <= 0:
            before = head[:at].rstrip()
            if re.search(r"\boperator$", before):   # operator()(...)
                before += "()"
            if re.search(r"\b(?:requires|noexcept|explicit|alignas|decltype|if|for|while|switch)$", before):
                depth += 1
                continue
            found = NAME.search(before)
            return re.sub(r"<[^<>]*>", "", found[0]) if found and not re.match(r"\d", found[0]) else None
        if sign == "=" and depth == 0 and angles <= 0 and not OPERATOR.search(head[:at]):
            return None
        depth += (sign == "(") - (sign == ")")
        if not OPERATOR.search(head[max(0, at - 12):at]):
            angles += (sign == "<") - (sign == ">" and head[at - 1] != "-")
    return None


def initializes_member(head: str) -> bool:
    """Whether a bracket after this head is the value of a member in a constructor's list: `: a_(1), b_`."""
    closing = re.search(r"\)[^()]*?(?<!:):(?!:)", head)
    return closing is not None and re.search(r"[\w>]$", head.rstrip()) is not None


def cpp_functions(text: str) -> Iterator[Function]:
    """The functions of a C++ source. What stands in a function (lambdas, local classes) belongs to it."""
    code = blank(text, CPP_SKIPPED)
    scopes: list[tuple[str, Optional[int]]] = []   # name, and where the function began if it is one
    head = 0                                       # where the current declaration begins
    inside: Optional[int] = None                   # how deep the innermost function is nested
    values = 0                                     # brackets of a value, open now
    for found in re.finditer(r"[{};]|\b(?:public|protected|private)\s*:(?!:)", code):
        sign, at = found[0][0], found.start()
        if values:
            values += (sign == "{") - (sign == "}")
            continue
        if sign == "{" and inside is None:
            declared = code[head:at]
            kind = NAMESPACE.search(declared)
            name = function_name(declared)
            if kind:
                scopes.append((kind[1], None))
            elif declared.count("(") > declared.count(")") or (name is not None and initializes_member(declared)):
                values = 1
                continue
            elif name is not None:
                inside = len(scopes)
                scopes.append((name, head + len(declared) - len(declared.lstrip())))
            elif found_type := TYPE.search(re.sub(r"<[^<>]*>", "", declared).rpartition("=")[2]):
                scopes.append((found_type[1], None))
            else:
                values = 1
                continue
        elif sign == "{":
            scopes.append(("", None))
        elif sign == "}" and scopes:
            start = scopes[-1][1]
            if start is not None:
                yield Function("::".join(name for name, _ in scopes if name), start, at + 1)
                inside = None
            scopes.pop()
        if inside is None:
            head = found.end()


def lua_functions(text: str) -> Iterator[Function]:
    """The functions of a Lua script; one inside another comes as its own."""
    code = blank(text, LUA_SKIPPED)
    opened: list[Optional[tuple[str, int]]] = []
    word = r"\b(?:(?:local\s+)?function\b(?:\s+(?P<name>[\w.:]+))?|(?P<open>if|do|repeat)|(?P<close>end|until))\b"
    for found in re.finditer(word, code):
        if found["close"]:
            function = opened.pop() if opened else None
            if function:
                yield Function(function[0], function[1], found.end())
        elif found["open"]:
            opened.append(None)
        else:
            assigned = re.search(r"([\w.\[\]]+)\s*=\s*$", code[:found.start()])
            name = found["name"] or (assigned[1] if assigned else "")
            opened.append((name, found.start()) if name else None)


def functions(path: str, text: str) -> list[Function]:
    """The functions of a source by its name's ending; none for other languages."""
    if path.endswith((".cpp", ".hpp")):
        return list(cpp_functions(text))
    return list(lua_functions(text)) if path.endswith(".lua") else []
