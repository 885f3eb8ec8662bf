"""What results say, for a list of things done, a file and an answer: whether they failed, and their plain text."""

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from runwire_graphs.scripted.reply import FAILED, SIGNATURE, Call
from runwire_graphs.scripted.words import files, quoted

# Some providers' forms of a result do not say that it is an error.
REJECTED = re.compile(r"User rejected the tool call for \S+(?: with reason: (?P<reason>.+))?", re.DOTALL)
EDITED = re.compile(r"Note: a human reviewer replaced this tool call.*?Tool response:\s*", re.DOTALL)
HEADER = re.compile(r"\A@@ .* @@\n")
SECTION = re.compile(r"^(?=##+ )", re.MULTILINE)
REFERS = re.compile(
    r"\b(?:it|that|this|them|both|everything|what|all|findings?|results?|answers?|reports?|summary|comparison)\b", re.I
)

# `a poem` is to be made up, which rules cannot; `hello world` can be written as it is.
COMPOSED = re.compile(r"\w+\s+(?:a|an|the|my|your|our|some)\b", re.I)


def failed(result: ToolMessage) -> bool:
    said = str(result.text)
    return result.status == "error" or said.startswith(FAILED) or bool(REJECTED.match(said))


def found(result: ToolMessage) -> str:
    """A subagent's report, without its signature; a failure says that it is one."""
    said = _bare(str(result.text))
    return f"{FAILED}{said}" if result.status == "error" else said


def outcome(call: Call, result: ToolMessage) -> str:
    """What came of a call of one's own."""
    said, what = str(result.text).strip(), call.args.get("file_path") or call.name
    if rejected := REJECTED.match(said):
        reason = rejected["reason"] or ""
        return f"You rejected {call.name} of {what}, so I left it{f': {reason}' if reason else '.'}"
    if result.status == "error":
        return f"{FAILED}{said}"
    if edited := EDITED.match(said):
        return f"{said[edited.end() :]}, as you changed it."
    return HEADER.sub("", said)


def sections(reports: Sequence[tuple[str, str]]) -> str:
    """Reports one after the other, each under what was asked; one alone needs no title."""
    if len(reports) == 1:
        return reports[0][1]
    return "\n\n".join(f"## {asked[:1].upper()}{asked[1:]}\n\n{SECTION.sub('#', said)}" for asked, said in reports)


def to_write(step: str, words: str, reported: str, before: Sequence[BaseMessage]) -> str | None:
    """What is quoted; else what was reported; else the last answer, where the step refers to it; else its own words."""
    if said := quoted(step):
        return said[0]
    answers = [str(one.text) for one in before if isinstance(one, AIMessage) and one.text and not one.tool_calls]
    if reported or REFERS.search(step):
        return reported or (_bare(answers[-1]) if answers else None)
    return words if files(step) and not COMPOSED.match(step) else None


def _bare(text: str) -> str:
    return text.replace(SIGNATURE, "").strip()
