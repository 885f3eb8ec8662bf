"""What the tests of `computer_use` share: pages that show what was done to them, and runs with their output."""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from langgraph.types import Command

from runwire import conformance
from tests.openai_server import Mind, Said
from tests.sites import Site, phrase

# Everything on it is where a test can know it, and every click and key shows.
BOARD = """
<style>* {{ margin: 0; box-sizing: border-box }} button, input, div {{ position: absolute }}</style>
<button style="left:100px;top:100px;width:200px;height:50px" onclick="note('pressed {name}')">{name}</button>
<input style="left:100px;top:200px;width:300px;height:40px" aria-label="Words" oninput="note('typed ' + value)">
<input type="password" style="left:100px;top:260px;width:300px;height:40px" aria-label="Secret">
<div style="left:500px;top:100px;width:200px;height:200px;background:#ddd;user-select:none" ondblclick="note('twice')"
  oncontextmenu="note('right'); return false" onmousedown="from = event.clientX" onmouseup="dragged(event)">pad</div>
<div id="told" style="left:100px;top:400px">nothing</div>
<div style="left:100px;top:3000px">far down</div>
<script>
let from = 0;
function note(text) {{
  document.title = told.innerText = text;
  const request = new XMLHttpRequest();  // one that waits, so that the order is that of the hands
  request.open('GET', '/did?' + encodeURIComponent(text), false);
  request.send();
}}
function dragged(event) {{ if (Math.abs(event.clientX - from) > 20) note('dragged ' + (event.clientX - from)) }}
onscroll = () => note('scrolled ' + Math.round(scrollY));
onkeydown = event => {{ if (event.ctrlKey && event.key == 'b') note('ctrl b') }};
</script>
"""


def board(site: Site, path: str = "/board") -> tuple[str, str]:
    """A page with a button, a field and a pad; gives its address and the button's random name."""
    name = phrase(2)
    return site.page(path, "Board", BOARD.format(name=name)), name


def presses(site: Site) -> list[str]:
    """What boards have told of themselves, in its order."""
    return [unquote(path.partition("?")[2]) for path in site.paths() if path.startswith("/did?")]


def watched(client: Any, request: Any, thread_id: str | None = None, **more: Any) -> tuple[Any, list[Any]]:
    """A run to its end or its pause, with every envelope checked."""
    with client.stream("computer_use", request, thread_id=thread_id, **more) as run:
        envelopes = list(run)
    assert conformance.check(envelopes) == []
    return run, envelopes


def values(client: Any, run: Any) -> dict[str, Any]:
    """The state of the run's thread, as the server keeps it."""
    state: dict[str, Any] = client.sdk.threads.get_state(run.thread_id)["values"]
    return state


def customs(envelopes: list[Any], type: str) -> list[dict[str, Any]]:
    """The custom events of one type, in their order."""
    told = [one.payload["data"] for one in envelopes if one.type == "tool_update" and one.payload["kind"] == "custom"]
    # The profile for users hands several out at once.
    flat = [data for one in told for data in (one if isinstance(one, list) else [one])]
    return [one for one in flat if one.get("type") == type]


@dataclass
class Hand:
    """A graph in this process, a thread of its own, and what its runs have told."""

    graph: Any
    thread: str = field(default_factory=lambda: uuid4().hex)
    customs: list[dict[str, Any]] = field(default_factory=list)
    acted: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, request: str | Command[Any], streamed: bool = False, **config: Any) -> dict[str, Any]:
        """A run to its end or its pause; gives what was told last of its output."""
        asked = request if isinstance(request, Command) else {"messages": [{"role": "user", "content": request}]}
        modes = ["values", "custom", *(["messages"] if streamed else [])]
        last: dict[str, Any] = {}
        async for mode, part in self.graph.astream(asked, {**self._config, **config}, stream_mode=modes):
            if mode == "custom":
                self.customs.append(part)
                if part["type"] == "computer_action":
                    self.acted.set()
            elif mode == "values":
                last = part
        return last

    @property
    def _config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": self.thread}, "recursion_limit": 200}

    async def state(self) -> dict[str, Any]:
        values: dict[str, Any] = (await self.graph.aget_state(self._config)).values
        return values

    def told(self, type: str) -> list[dict[str, Any]]:
        return [one for one in self.customs if one["type"] == type]

    def fates(self) -> list[str]:
        return [one["fate"] for one in self.told("computer_sandbox")]


def click(x: int, y: int) -> dict[str, Any]:
    return {"type": "click", "x": x, "y": y, "button": "left"}


def written(text: str) -> dict[str, Any]:
    return {"type": "type", "text": text}


def one_after_the_other(*said: Said) -> Mind:
    """A mind that says the next thing each time it is asked, and the last one for ever."""
    left = list(said)
    return lambda messages, tools, forced: left.pop(0) if len(left) > 1 else left[0]


def outputs(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in request["input"] if item.get("type") == "computer_call_output"]
