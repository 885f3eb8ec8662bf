"""The `custom` mode: whatever a node or a tool wrote to its stream writer."""

from runwire_normalizers._run import Run
from runwire_normalizers.parts import StreamPart


def read_custom(run: Run, part: StreamPart) -> None:
    run.custom(part.namespace, part.data)
