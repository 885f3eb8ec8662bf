"""One reader per stream mode: what a frame means for the run. A new mode is a new file and a line in `READERS`."""

from collections.abc import Callable

from runwire_normalizers._run import Run
from runwire_normalizers.modes.checkpoints import read_checkpoints, read_debug
from runwire_normalizers.modes.custom import read_custom
from runwire_normalizers.modes.events import read_events
from runwire_normalizers.modes.frames import read_end, read_error, read_metadata
from runwire_normalizers.modes.messages import read_messages, read_messages_metadata, read_messages_whole
from runwire_normalizers.modes.state import read_updates, read_values
from runwire_normalizers.modes.tasks import read_tasks
from runwire_normalizers.parts import StreamPart

Reader = Callable[[Run, StreamPart], None]

READERS: dict[str, Reader] = {
    "checkpoints": read_checkpoints,
    "custom": read_custom,
    "debug": read_debug,
    "end": read_end,
    "error": read_error,
    "events": read_events,
    "messages": read_messages,
    "messages/complete": read_messages_whole,
    "messages/metadata": read_messages_metadata,
    "messages/partial": read_messages_whole,
    "metadata": read_metadata,
    "tasks": read_tasks,
    "updates": read_updates,
    "values": read_values,
}
