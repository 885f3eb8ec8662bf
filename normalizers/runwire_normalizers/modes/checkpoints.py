"""The `checkpoints` mode, and `debug`, which wraps checkpoints and tasks in one more layer."""

from typing import Any

from runwire_normalizers._identity import digest
from runwire_normalizers._run import Run
from runwire_normalizers.modes.tasks import read_task
from runwire_normalizers.parts import StreamPart


def read_checkpoints(run: Run, part: StreamPart) -> None:
    read_checkpoint(run, part.namespace, part.data)


def read_checkpoint(run: Run, namespace: tuple[str, ...], data: dict[str, Any]) -> None:
    id = ((data["config"] or {}).get("configurable") or {}).get("checkpoint_id")
    call = run.tasks.owner(namespace)
    # The first frame of a resumed run repeats the checkpoint that it resumes from.
    if id is None or (namespace, id) in run.checkpoints or call.checkpoint_id == id or call.over:
        return
    run.checkpoints.add((namespace, id))
    if run.only_checkpoints and isinstance(data["values"], dict):
        run.absorb_values(namespace, data["values"])
    call.checkpoint_id = id
    run.calls.checkpoint(call, digest(data["values"]), None)


def read_debug(run: Run, part: StreamPart) -> None:
    match part.data["type"]:
        case "checkpoint":
            read_checkpoint(run, part.namespace, part.data["payload"])
        case "task" | "task_result":
            read_task(run, part.namespace, part.data["payload"])
        case other:
            run.warn("unknown_event", f"debug tells of a {other}", part.data)
