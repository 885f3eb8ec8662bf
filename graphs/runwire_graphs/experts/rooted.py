"""File names that a model gives, kept under their root; links that lead out of it are out of bounds too."""

from pathlib import Path

from mcp.server.mcpserver.exceptions import ToolError


def inside(root: Path, name: str) -> Path:
    """The path of a name under the root; raises ToolError, in words, for one that lies elsewhere."""
    if "\x00" in name:
        raise ToolError("A file name cannot hold a NUL character.")
    path = (root / name.strip().lstrip("/")).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ToolError(f"{name!r} lies outside of the folder that I may use.")
    return path


def shown(root: Path, path: Path) -> str:
    return path.relative_to(root.resolve()).as_posix()
