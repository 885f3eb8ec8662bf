"""A planner: `plan`, `todos` and `planner_result` change over several steps, with custom progress."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.graphs.case import Graph, human, once
from tests.graphs.model import Reply, model
from tests.graphs.node import Invoke, Steps, node, speaker

PLAN = [{"expert": "searcher", "task": "search it"}, {"expert": "writer", "task": "write it"}]
EXPERT = model(lambda messages: Reply(f"Task {sum(m.type == 'ai' for m in messages) + 1} is done."))


class State(MessagesState):
    plan: list[dict[str, str]]
    todos: list[dict[str, str]]
    planner_result: dict[str, Any] | None


def _todos(done: int) -> list[dict[str, str]]:
    return [{"content": step["task"], "status": "completed" if n < done else "pending"} for n, step in enumerate(PLAN)]


def planner(state: State) -> dict[str, Any]:
    last = state.get("planner_result")
    done = last["next_task"] + 1 if last else 0
    get_stream_writer()({"type": "progress", "done": done, "total": len(PLAN)})
    result = {
        "decision": "continue" if last else "replace",
        "plan": PLAN,
        "next_task": done,
        "clarification": None,
    }
    return {"plan": PLAN, "todos": _todos(done), "planner_result": result}


@node
def execute(state: State) -> Steps:
    get_stream_writer()({"type": "progress", "message": "an expert is at work"})
    return {"messages": [(yield Invoke(EXPERT, state["messages"]))]}


def forget(state: State) -> dict[str, Any]:
    return {"planner_result": None}


def route(state: State) -> str:
    result = state["planner_result"]
    return "execute" if result and result["next_task"] < len(PLAN) else "respond"


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(State)
    graph.add_node("planner", planner)
    graph.add_node("execute", execute)
    graph.add_node("respond", speaker(model("Searched and written.")))
    graph.add_node("forget", forget)
    graph.add_edge(START, "planner")
    graph.add_conditional_edges("planner", route, ["execute", "respond"])
    graph.add_edge("execute", "planner")
    graph.add_edge("respond", "forget")
    graph.add_edge("forget", END)
    return graph.compile(checkpointer)


CASE = once(build, human("search and write"))
