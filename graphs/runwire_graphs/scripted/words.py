"""Plain English, taken apart: the steps of a request, the words that matter, and the things that it names."""

import re

VERBS = """open go visit browse load navigate click press follow hit tap type fill enter write put choose select pick
scroll take tell show read get give list search find grep look sum total count describe average save create append add
delete remove copy move make summarize summarise compare switch close filter sort store check compute calculate
ask edit replace change wait drag hover tick untick uncheck double-click right-click
(?:double|right)\\sclick""".split()
# `and` joins steps only before a verb, known or followed by its object: "its title and text" is one thing.
SPLIT = re.compile(
    r"\s*(?:[;\n]+|(?<!\d)[.!?]\s+(?=[A-Za-z])|,?\s+(?:and\s+)?then\s+"
    rf"|(?:,\s+and|\s+and|,)\s+(?!press\s+(?:enter|return)|submit(?!\s+(?:the|my|this)\b))"
    rf"(?=(?:{'|'.join(VERBS)})\b|[a-z]+\s+(?:a|an|the|my|me|it|this|that|these|all)\b))\s*(?=\S)",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+")
POLITE = re.compile(
    r"^(?:please|now|then|first|finally|next|also|can you|could you|would you|i want you to|let us|let's)\s+", re.I
)
QUOTED = re.compile(r"\"([^\"]*)\"|“([^”]*)”|(?<![A-Za-z0-9])'([^']+)'(?![A-Za-z0-9])|`([^`]*)`")
URL = re.compile(
    r"https?://[^\s\"'<>]*[^\s\"'<>,.;:!?)]|(?<![\w@/.])(?:[\w-]+\.)+(?:com|org|net|io|dev|edu|gov|test|example)(?::\d+)?(?:/[^\s\"'<>,]*)?",
    re.I,
)
FILE = re.compile(r"(?<![\w/.:])/?(?:[\w-]+/)*[\w-]+\.(?!\d)\w{1,5}(?!\w|/)|(?<!\S)/?(?:[\w.-]+/)+[\w.-]*")
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*[A-Za-z])")
WORD = re.compile(r"[A-Za-z]+")
STOP = frozenset(
    """a an the of to in on at for with from by it its is are be me my your our this that these those there and or
    please then into as what which how do does can could would i you we us all any some""".split()
)
# Words that people use for what a tool calls otherwise.
SAME = {
    word: meant
    for meant, words in {
        "open": "go visit browse load",
        "page": "site website",
        "address": "url",
        "screenshot": "picture",
        "click": "press follow hit tap",
        "type": "fill enter input",
        "tell": "say give",
        "summarize": "summarise",
        "directory": "folder",
        "write": "save store create",
        "search": "find grep",
        "read": "look",
        "content": "contents",
        "sum": "total",
        "average": "mean avg",
        "table": "spreadsheet csv",
        "row": "lines",
        "choose": "pick",
        "append": "add",
        "select": "switch",
        "edit": "replace change modify",
        "delete": "remove",
    }.items()
    for word in words.split()
}


def stem(word: str) -> str:
    word = SAME.get(word.lower(), word.lower())
    for end in ("ing", "es", "s"):
        if word.endswith(end) and len(word) - len(end) >= 3 and not word.endswith("ss"):
            return SAME.get(word.removesuffix(end), word.removesuffix(end)).rstrip("e")
    return word.rstrip("e")


def stems(text: str) -> list[str]:
    return [stem(word) for word in WORD.findall(text) if word.lower() not in STOP]


def clauses(text: str) -> list[str]:
    """The steps of a request. What stands in quotes is never taken apart."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\x00{len(kept) - 1}\x00"

    hidden = URL.sub(keep, QUOTED.sub(keep, text))
    parts = SPLIT.split(hidden)
    whole = [re.sub(r"\x00(\d+)\x00", lambda found: kept[int(found[1])], part) for part in parts]
    # A quoted address was hidden twice.
    whole = [re.sub(r"\x00(\d+)\x00", lambda found: kept[int(found[1])], part) for part in whole]
    return [tidy for part in whole if (tidy := _tidy(part))]


def _tidy(part: str) -> str:
    part = NUMBERED.sub("", part).strip().rstrip(".!?,").strip()
    while (shorter := POLITE.sub("", part)) != part:
        part = shorter
    return part


def quoted(text: str) -> list[str]:
    return [next(group for group in found.groups() if group is not None) for found in QUOTED.finditer(text)]


def urls(text: str) -> list[str]:
    return URL.findall(text)


def files(text: str) -> list[str]:
    """File names; an address is none."""
    return FILE.findall(URL.sub(" ", text))


def numbers(text: str) -> list[int]:
    return [int(found) for found in NUMBER.findall(QUOTED.sub(" ", URL.sub(" ", text)))]
