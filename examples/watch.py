"""Watch a run as it happens: `python examples/watch.py ASSISTANT TEXT`, against RUNWIRE_URL or the local server.

Subagents may speak at once, so what one says is shown under its name when it is whole. A run that waits for you takes
your answer from the terminal.
"""

import sys
from typing import Any

import runwire

WIDTH = 140


def main(assistant: str, text: str) -> None:
    with runwire.Client() as client:
        run = watch(client.stream(assistant, text))
        while run.interrupts and sys.stdin.isatty():
            run = watch(run.respond(answer(run.interrupts[0]["value"])))


def watch(run: runwire.Run) -> runwire.Run:
    with run:
        for envelope in run:
            show(run.view, envelope)
    print(f"\n{run.view.render(WIDTH)}\n\n{run.status}, {run.usage}")
    for waiting in run.interrupts:
        print(f"it waits for you: {question(waiting['value'])}")
    return run


def show(view: runwire.RunView, envelope: runwire.Envelope) -> None:
    told, main = envelope.payload, view.root is not None and envelope.parent_id == view.root.call_id
    call = view.call(envelope.call_id)
    match envelope.type:
        case "tool_start" if told["kind"] == "tool":
            print(f"→ {told['tool_name']} {told['args']}"[:WIDTH])
        case "llm_token" if main and told["channel"] == "text":
            print(told["text"], end="", flush=True)
        case "llm_end" if call and call.text:
            print("\n" if main else f"{envelope.agent}: {call.text}\n")
        case "error":
            print(f"✗ {told['message']}")


def question(value: Any) -> str:
    """What a run asks: for approvals, or whatever its graph says."""
    if isinstance(value, dict) and "action_requests" in value:
        return " ".join(action["description"] for action in value["action_requests"])
    return str(value)


def answer(value: Any) -> Any:
    """What you type: to a request for approvals, `yes`, or why not."""
    typed = input("> ")
    if not isinstance(value, dict) or "action_requests" not in value:
        return typed
    approved = typed.strip().lower() in ("y", "yes", "ok", "approve")
    decision = {"type": "approve"} if approved else {"type": "reject", "message": typed}
    return {"decisions": [decision for _ in value["action_requests"]]}


if __name__ == "__main__":
    main(*sys.argv[1:3])
