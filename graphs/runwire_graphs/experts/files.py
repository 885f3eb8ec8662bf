"""The expert `files`, an MCP server of its own process: `python -m runwire_graphs.experts.files ROOT`."""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from runwire_graphs.experts.rooted import inside, shown

READ_LIMIT = 64 * 1024
LIST_LIMIT = 500
HITS = 50

server = MCPServer("files")
root = Path()


@server.tool(structured_output=False)
def list_files(directory: str = ".") -> str:
    """List the files in a directory or folder.

    Args:
        directory: The folder, from the root.
    """
    folder = inside(root, directory)
    if not folder.is_dir():
        raise ToolError(f"There is no folder {directory!r}.")
    found = sorted(path for path in folder.rglob("*") if path.is_file())[:LIST_LIMIT]
    return "\n".join(f"{shown(root, path)} ({path.stat().st_size} bytes)" for path in found) or "The folder is empty."


@server.tool(structured_output=False)
def read_file(path: str) -> str:
    """Read, show or tell the text of a file.

    Args:
        path: The file, from the root.
    """
    file = inside(root, path)
    if not file.is_file():
        raise ToolError(f"There is no file {path!r}.")
    with file.open("rb") as opened:
        data = opened.read(READ_LIMIT + 1)
    text = data[:READ_LIMIT].decode("utf-8", "replace")
    return f"{text}\n… (the file goes on)" if len(data) > READ_LIMIT else text


@server.tool(structured_output=False)
def write_file(path: str, content: str) -> str:
    """Write, save or create a text as a file, in place of what the file held.

    Args:
        path: The file, from the root.
        content: The text.
    """
    file = inside(root, path)
    if file.is_dir():
        raise ToolError(f"{path!r} is a folder.")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, "utf-8")
    return f"Wrote {len(content)} characters to {shown(root, file)}."


@server.tool(structured_output=False)
def search_files(query: str) -> str:
    """Search or find a word or text in all files.

    Args:
        query: What to look for; capitals do not matter.
    """
    hits = []
    for file in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
            if query.lower() in line.lower():
                hits.append(f"{file.relative_to(root).as_posix()}:{number}: {line.strip()[:200]}")
    return "\n".join(hits[:HITS]) or f"{query!r} is in no file."


if __name__ == "__main__":
    root = Path(sys.argv[1])
    server.run("stdio")
