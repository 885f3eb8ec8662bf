"""Watch a run as it happens: `python examples/watch.py ASSISTANT TEXT`, against RUNWIRE_URL or the local server."""

import sys

import runwire


def main(assistant: str, text: str) -> None:
    with runwire.Client() as client, client.stream(assistant, text) as run:
        for envelope in run:
            match envelope.type:
                case "tool_start" if envelope.payload["kind"] == "tool":
                    print(f"→ {envelope.payload['tool_name']} {envelope.payload['args']}")
                case "llm_token" if envelope.payload["channel"] == "text":
                    print(envelope.payload["text"], end="", flush=True)
                case "llm_end" if envelope.payload["finish_reason"] == "stop":
                    print()
                case "error":
                    print(f"✗ {envelope.payload['message']}")
    print(f"\n{run.view.render()}\n")
    print(f"{run.status}, {run.usage}")
    for waiting in run.interrupts:
        print(f"it waits for you: {waiting['value']}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
