"""The `tasks` mode: each task's start with its input and its end with result, error or interrupts."""

from typing import Any

from runwire_normalizers._run import Run
from runwire_normalizers.parts import StreamPart


def read_tasks(run: Run, part: StreamPart) -> None:
    read_task(run, part.namespace, part.data)


def read_task(run: Run, namespace: tuple[str, ...], task: dict[str, Any]) -> None:
    meta = task.get("metadata") or {}
    run.learn(meta)
    if "result" in task:
        interrupts = list(task.get("interrupts") or ())
        run.tasks.end(namespace, task["id"], task["name"], task["result"], task.get("error"), interrupts)
    else:
        started = run.tasks.start(namespace, task["id"], task["name"], task["input"])
        started.announced = True
        started.agent = meta.get("lc_agent_name") or started.agent
