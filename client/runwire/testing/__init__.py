"""A scripted server for tests: runs told frame by frame, over connections that behave just as the script says.

It speaks what a client asks of a LangGraph server, over real sockets on loopback, in the manner of `langgraph dev`,
langhost or Aegra. It runs no graph, and it sends the frames of the script whatever stream modes are asked for.

    with ScriptedServer() as server, runwire.Client(server.url) as client:
        server.add(text_run("Hello ", "world", connections=[Cut(after=3)]))
        with client.stream("agent", "hi") as run:
            assert "".join(run.text()) == "Hello world"
    assert server.requests[0].json["assistant_id"] == "agent"
"""

from runwire.testing._behaviour import Connection, Cut, Flood, Hold, Lost, Stall, Status
from runwire.testing._engines import ENGINES, Engine
from runwire.testing._requests import Request
from runwire.testing._runs import ScriptedRun, text_run
from runwire.testing._server import ScriptedServer

__all__ = [
    "Connection",
    "Cut",
    "ENGINES",
    "Engine",
    "Flood",
    "Hold",
    "Lost",
    "Request",
    "ScriptedRun",
    "ScriptedServer",
    "Stall",
    "Status",
    "text_run",
]
