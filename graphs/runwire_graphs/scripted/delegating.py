"""What the keyless model does with subagents: notes the steps, hands them out at once, does its own, and sums up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from runwire_graphs.scripted.findings import failed, found, outcome, sections, to_write
from runwire_graphs.scripted.jobs import TASK, TODOS, WRITE, Crew, Job
from runwire_graphs.scripted.reply import SELF, SIGNATURE, Call, Reply

CONTENT, PATH, REPORT = "content", "file_path", "/report.md"
LONGEST = 200


@dataclass(frozen=True)
class Part:
    """A job, the call that does it unless something is missing, and what has come of it."""

    job: Job
    call: Call
    missing: tuple[str, ...]
    result: ToolMessage | None

    @property
    def done(self) -> bool:
        return self.result is not None and not failed(self.result)


@dataclass(frozen=True)
class Work:
    """A request's parts, the steps that are nobody's, and how often the list was written."""

    parts: Sequence[Part]
    unclear: Sequence[str]
    handed: bool
    noted: int

    @property
    def tasks(self) -> list[Part]:
        return [one for one in self.parts if one.job.subagent]

    @property
    def own(self) -> list[Part]:
        return [one for one in self.parts if not one.job.subagent and not one.missing]


def delegate(request: str, before: Sequence[BaseMessage], since: Sequence[BaseMessage], crew: Crew) -> Reply:
    """The next message: the list, all tasks at once, the list again, one's own calls, the list, the answer."""
    work = _work(request, before, since, crew)
    lists = crew.lists and len(work.parts) > 1
    waiting = next((one for one in work.own if one.result is None), None)
    if lists and not work.noted:
        return Reply("I note the steps first.", (_todos(work),))
    if work.tasks and not work.handed:
        return Reply(_handing(work.tasks), tuple(one.call for one in work.tasks))
    if lists and work.tasks and waiting and work.noted < 2:
        return Reply(calls=(_todos(work),))
    if waiting:
        return Reply(calls=(waiting.call,))
    if lists and work.noted < (3 if work.tasks and work.own else 2):
        return Reply(calls=(_todos(work),))
    return Reply(_answer(request, work, crew))


def _work(request: str, before: Sequence[BaseMessage], since: Sequence[BaseMessage], crew: Crew) -> Work:
    """Calls of this turn are told from their order: tasks and one's own each come as their jobs do."""
    asked = [call for one in since if isinstance(one, AIMessage) for call in one.tool_calls]
    answers = {one.tool_call_id: one for one in since if isinstance(one, ToolMessage)}
    tasks = iter([answers.get(str(call["id"])) for call in asked if call["name"] == TASK])
    used = iter([answers.get(str(call["id"])) for call in asked if call["name"] not in (TASK, TODOS)])
    jobs, unclear = crew.jobs(request, _written(before))
    handed = {at: Part(job, _task(job), (), next(tasks, None)) for at, job in enumerate(jobs) if job.subagent}
    reported = sections([(one.job.text, found(one.result)) for one in handed.values() if one.result])
    parts = [handed.get(at) or _own(job, reported, before, used) for at, job in enumerate(jobs)]
    names = [call["name"] for call in asked]
    return Work(parts, unclear, TASK in names, names.count(TODOS))


def _written(messages: Sequence[BaseMessage]) -> set[str]:
    """The files of one's own, as far as the conversation tells of them."""
    calls = [call for one in messages if isinstance(one, AIMessage) for call in one.tool_calls]
    return {str(call["args"][PATH]) for call in calls if PATH in call["args"]}


def _task(job: Job) -> Call:
    return Call(TASK, {"description": job.text, "subagent_type": job.subagent})


def _own(job: Job, reported: str, before: Sequence[BaseMessage], used: Iterator[ToolMessage | None]) -> Part:
    """One's own call, with what is to be written; one that lacks something is not made."""
    assert job.own is not None
    name, args, missing = job.own.call.name, dict(job.own.call.args), job.own.missing
    if name == WRITE:
        said = to_write(job.text, str(args.get(CONTENT, "")), reported, before)
        args, missing = {PATH: REPORT} | args | {CONTENT: said}, () if said else ("what to write",)
    if PATH in args:
        args[PATH] = "/" + str(args[PATH]).lstrip("/")
    return Part(job, Call(name, args), missing, None if missing else next(used, None))


def _handing(tasks: Sequence[Part]) -> str:
    names = [str(one.job.subagent) for one in tasks]
    return f"I hand {len(names)} parts out at once: to {', '.join(names)}." if len(names) > 1 else ""


def _todos(work: Work) -> Call:
    """The list as it stands: tasks are under way together, one's own steps one after the other."""
    under_way = [one for one in work.tasks if one.result is None] or [one for one in work.own if one.result is None][:1]
    todos = [
        {"content": one.job.text, "status": "completed" if one.done else _status(one in under_way)}
        for one in work.parts
    ]
    return Call(TODOS, {"todos": todos})


def _status(under_way: bool) -> str:
    return "in_progress" if under_way else "pending"


def _answer(request: str, work: Work, crew: Crew) -> str:
    told = [sections([(one.job.text, found(one.result)) for one in work.tasks if one.result])] if work.tasks else []
    told += [outcome(one.call, one.result) for one in work.own if one.result]
    told += [f"For {one.job.text!r} I need to know: {', '.join(one.missing)}." for one in work.parts if one.missing]
    if not work.parts:
        helpers = "\n".join(f"- {name}: {what}" for name, what in crew.told.items())
        asked = repr(request[:LONGEST])
        return f"{SELF} I did not understand {asked}. Ask in plain steps for what my subagents do:\n{helpers}"
    if work.unclear:
        told.append(f"I did not understand: {'; '.join(work.unclear)}.")
    return "\n\n".join([*told, SIGNATURE])
