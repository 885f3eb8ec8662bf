"""Nodes written once and run both ways: a generator yields what it wants invoked, sync or async drives it."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import Runnable
from langgraph.utils.runnable import RunnableCallable

from tests.graphs.model import ScriptedModel


@dataclass(frozen=True)
class Invoke:
    """A wish of a node: this runnable with that input."""

    runnable: Runnable[Any, Any]
    input: Any


Wish = Invoke | list[Invoke]
Steps = Generator[Wish, Any, Any]
Body = Callable[[Any], Steps]


def node(body: Body) -> RunnableCallable:
    """A graph node of a generator: a yielded `Invoke` gives its result, a list of them runs at once."""

    def run(state: Any) -> Any:
        steps = body(state)
        wish = _first(steps)
        while not isinstance(wish, _Done):
            try:
                result = _invoke(wish)
            except Exception as error:
                wish = _after(steps.throw, error)
            else:
                wish = _after(steps.send, result)
        return wish.value

    async def arun(state: Any) -> Any:
        steps = body(state)
        wish = _first(steps)
        while not isinstance(wish, _Done):
            try:
                result = await _ainvoke(wish)
            except Exception as error:
                wish = _after(steps.throw, error)
            else:
                wish = _after(steps.send, result)
        return wish.value

    return RunnableCallable(run, arun, name=body.__name__, trace=False)


def speaker(model: ScriptedModel, name: str = "speak") -> RunnableCallable:
    """A node that answers the messages of the state with a model."""

    def speak(state: Any) -> Steps:
        return {"messages": [(yield Invoke(model, state["messages"]))]}

    speak.__name__ = name
    return node(speak)


@dataclass(frozen=True)
class _Done:
    value: Any


def _first(steps: Steps) -> Any:
    return _after(steps.send, None)


def _after(move: Callable[[Any], Any], value: Any) -> Any:
    try:
        return move(value)
    except StopIteration as stop:
        return _Done(stop.value)


def _invoke(wish: Wish) -> Any:
    if isinstance(wish, Invoke):
        return wish.runnable.invoke(wish.input)
    with ThreadPoolExecutor(len(wish)) as pool:
        jobs = [pool.submit(copy_context().run, one.runnable.invoke, one.input) for one in wish]
        return [job.result() for job in jobs]


async def _ainvoke(wish: Wish) -> Any:
    if isinstance(wish, Invoke):
        return await wish.runnable.ainvoke(wish.input)
    return await asyncio.gather(*(one.runnable.ainvoke(one.input) for one in wish))
