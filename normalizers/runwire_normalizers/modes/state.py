"""The `updates` and `values` modes: what nodes returned, and the whole state after each step."""

from runwire_normalizers._messages import messages_in
from runwire_normalizers._run import Run
from runwire_normalizers._state import as_values
from runwire_normalizers.parts import StreamPart


def read_updates(run: Run, part: StreamPart) -> None:
    for node, update in part.data.items():
        if node == "__interrupt__":
            run.interrupt(part.namespace, list(update))
            continue
        if node != "__metadata__":
            _end_subgraph(run, part.namespace, node)
            run.absorb_result(part.namespace, update, messages_in(update), node, None)


def _end_subgraph(run: Run, namespace: tuple[str, ...], node: str) -> None:
    """Without tasks, a node's update ends the one subgraph that ran in it; of several, none can be told."""
    if run.tasks.by_id:
        return
    inner = [
        call
        for space, call in run.tasks.owners.items()
        if space[: len(namespace)] == namespace and space[len(namespace) :] and not call.over
        if space[len(namespace)].rpartition(":")[0] == node and all(s.isdigit() for s in space[len(namespace) + 1 :])
    ]
    if len({call.call_id for call in inner}) == 1 and inner[0].kind == "subgraph":
        run.ending.end_graph(inner[0])


def read_values(run: Run, part: StreamPart) -> None:
    values = dict(as_values(part.data))
    if "__interrupt__" in values:
        run.interrupt(part.namespace, list(values["__interrupt__"]))
    run.absorb_values(part.namespace, values)
