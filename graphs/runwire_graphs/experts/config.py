"""Which experts there are: the two of the bundle, and those of the file that RUNWIRE_EXPERTS names."""

import json
import shutil
import sys
from pathlib import Path
from typing import Literal, Self

from mcp import StdioServerParameters
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from runwire_graphs.errors import ConfigError
from runwire_graphs.settings import Settings

SAMPLES = Path(__file__).parent / "samples"


class Expert(BaseModel):
    """An MCP server: a command that is run, or an address. The description is what the planner chooses by."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    transport: Literal["stdio", "streamable_http"] | None = None
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give either a command or a url")
        return self

    @property
    def server(self) -> StdioServerParameters | str:
        if self.url is not None:
            return self.url
        return StdioServerParameters(command=self.command or "", args=self.args, env=self.env, cwd=self.cwd)


_FILE = TypeAdapter(dict[str, Expert])


def load_experts(settings: Settings) -> dict[str, Expert]:
    """The experts by name; a name of the file's wins over the bundle's. It blocks: files are read."""
    return shipped(settings) | (_read(settings.experts) if settings.experts else {})


def shipped(settings: Settings) -> dict[str, Expert]:
    root = settings.files_root.absolute()
    if not root.exists():
        shutil.copytree(SAMPLES, root)

    def expert(module: str, description: str) -> Expert:
        return Expert(description=description, command=sys.executable, args=["-m", module, str(root)])

    return {
        "files": expert(f"{__package__}.files", "Lists, reads, writes and searches text files, documents and notes."),
        "tables": expert(
            f"{__package__}.tables",
            "Answers about tables, spreadsheets and CSV files: lists them, shows and filters their rows, and computes "
            "sums, totals, averages, minimums, maximums and counts of columns, also by group.",
        ),
    }


def _read(path: Path) -> dict[str, Expert]:
    try:
        told = json.loads(path.read_text("utf-8"))
        return _FILE.validate_python(told.get("mcpServers", told) if isinstance(told, dict) else told)
    except OSError as error:
        raise ConfigError(f"RUNWIRE_EXPERTS names {path}, which cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{path}, of RUNWIRE_EXPERTS, is wrong at {where!r}: {first['msg']}.") from error
    except ValueError as error:
        raise ConfigError(f"{path}, of RUNWIRE_EXPERTS, is not JSON: {error}.") from error
