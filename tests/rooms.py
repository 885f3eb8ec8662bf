"""The import rules of the three source roots, read from the syntax tree; it imports nothing."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = {"runwire", "runwire_normalizers", "runwire_graphs"}

SOCKETS = """
socket ssl socketserver select selectors http urllib.request ftplib smtplib imaplib poplib xmlrpc
asyncio.open_connection asyncio.start_server asyncio.open_unix_connection asyncio.start_unix_server
""".split()
CLOCKS = """
time sched asyncio.sleep asyncio.timeout asyncio.wait_for threading.Timer
datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today
""".split()
RANDOMNESS = "random secrets uuid.uuid1 uuid.uuid4 uuid.uuid6 uuid.uuid7 uuid.uuid8 os.urandom os.getrandom".split()


@dataclass(frozen=True)
class Room:
    """What one source root may import besides the standard library, and what it may never use."""

    path: str
    may: frozenset[str]
    never: frozenset[str] = frozenset()
    # Further packages under a path prefix, relative to the source root's package.
    inside: dict[str, frozenset[str]] = field(default_factory=dict)


ROOMS = {
    "normalizers": Room(
        "normalizers/runwire_normalizers",
        frozenset({"runwire_normalizers", "pydantic", "pydantic_core", "orjson"}),
        frozenset([*SOCKETS, *CLOCKS, *RANDOMNESS]),
        {"projections/agui": frozenset({"ag_ui"})},
    ),
    "client": Room(
        "client/runwire",
        frozenset({"runwire", "runwire_normalizers", "httpx", "httpcore", "httpx_sse", "langgraph_sdk"}),
        inside={"gateway": frozenset({"starlette"}), "langroid": frozenset({"langroid"})},
    ),
    "graphs": Room(
        "graphs/runwire_graphs",
        frozenset(
            """runwire_graphs runwire_normalizers langgraph langgraph_sdk langchain langchain_core
            langchain_openai openai pydantic deepagents playwright mcp typing_extensions dotenv""".split()
        ),
    ),
}

# (file relative to the repository, dotted name) -> why the rule gives way there. Keep it short.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("normalizers/runwire_normalizers/resume.py", "langgraph.types.Command"): (
        "only a Command resumes a graph in this process; it is imported where one is asked for"
    ),
}


def names_used(tree: ast.AST) -> Iterator[str]:
    """Every absolute dotted name that the code imports, anywhere in it, or reaches through an import."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        for bound, name in _imported(node):
            aliases[bound] = name
            yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and (reached := _resolved(node, aliases)):
            yield reached


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                # `import a.b` binds `a`, but loads `a.b`.
                yield (alias.asname or alias.name), alias.name
                if not alias.asname:
                    yield alias.name.split(".")[0], alias.name.split(".")[0]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            for alias in names:
                yield (alias.asname or alias.name), f"{module}.{alias.name}"
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]):
            if ast.unparse(func) in {"__import__", "import_module", "importlib.import_module"}:
                yield "", name


def _resolved(node: ast.expr, aliases: dict[str, str]) -> str | None:
    match node:
        case ast.Name(id=name):
            return aliases.get(name)
        case ast.Attribute(value=value, attr=attr):
            base = _resolved(value, aliases)
            return f"{base}.{attr}" if base else None
    return None


def violations(room: Room, path: str, source: str) -> list[str]:
    """The rules of the room that this source, at this path inside the room's package, breaks."""
    may = room.may.union(*(more for prefix, more in room.inside.items() if _under(path, prefix)))
    broken = set()
    for name in names_used(ast.parse(source)):
        if (f"{room.path}/{path}", name) in EXCEPTIONS:
            continue
        top = name.partition(".")[0]
        if top not in may and top not in sys.stdlib_module_names:
            broken.add(f"{room.path}/{path}: may not import {top}")
        if banned := next((never for never in room.never if name == never or name.startswith(never + ".")), None):
            broken.add(f"{room.path}/{path}: may not use {banned}")
    return sorted(broken)


def _under(path: str, prefix: str) -> bool:
    return path == f"{prefix}.py" or path.startswith(f"{prefix}/")


def room_violations(room: Room) -> list[str]:
    folder = ROOT / room.path
    files = sorted(folder.rglob("*.py"))
    return [
        broken
        for file in files
        for broken in violations(room, file.relative_to(folder).as_posix(), file.read_text("utf-8"))
    ]


def joins_all_rooms(source: str) -> bool:
    return {name.partition(".")[0] for name in names_used(ast.parse(source))} >= PACKAGES
