"""What a person says in a user's text: without what a harness wraps around it.

A harness puts notes, files and whole instructions into the user's messages. Some stand in texts
of their own, some in front of the user's words or behind them, and some have the words inside.
"""

from __future__ import annotations

import re

from compactctl import placeholders, summaries

_HARNESS = (
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "Caveat: The messages below",
    "[Request interrupted",
)
"""Texts that begin so hold no word of the user."""

_NOTES = "|".join(
    """system-reminder user_instructions environment_context environment_details skill
    ide_opened_file ide_selection ide_diagnostics editor_context workspace_info context_files
    uploaded_files attached_files attached-files additional_data pasted_content pasted_text
    pasted-text pasted""".split()
)
_FILES = "|".join("file files document documents attachment attachments".split())
_WORDS = "|".join("user_query user_request userRequest user_message user_input feedback".split())

_IN_FRONT = re.compile(rf"\s*<({_NOTES}|{_FILES})\b[^<>]*>.*?</\1\s*>", re.DOTALL)
_AT_THE_END = re.compile(rf"</({_NOTES}|{_FILES})\s*>\s*\Z")
_NEVER_CLOSED = re.compile(rf"\s*<(?:{_NOTES})\b")
_INSIDE = re.compile(rf"<({_WORDS})\b[^<>]*>(.*?)</\1\s*>", re.DOTALL)
_IMAGE_TAG = re.compile(r"\s*</?image\b[^<>]*>\s*")

_RULE_FILE = ("# AGENTS.md instructions", "</INSTRUCTIONS>")
_EDITOR = ("# Files mentioned by the user", "# Context from my IDE setup")
_ASKED = re.compile(r"^## My request for [^\n]*:[ \t]*$", re.MULTILINE)

_COMMAND = re.compile(r"<command-name>\s*([^<\s]+)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_OF_THE_CLIENT = frozenset(
    """add-dir agents bashes bug clear color compact config context copy cost doctor effort exit
    export extra-usage fast feedback help hooks ide install-github-app keybindings login logout
    mcp memory model output-style permissions plugin privacy-settings quit release-notes
    reload-plugins rename resume rewind sandbox skills stats status statusline tasks
    terminal-setup theme todos upgrade usage vim""".split()
)
"""Commands that the client carries out itself: they ask nothing of the model."""


def own_words(text: str) -> str:
    """Return what the user says in a text, "" if all of it is the harness's.

    A slash command says its name and its arguments.
    """
    start = text[:200].lstrip()
    if start.startswith(_HARNESS) or placeholders.is_note(text) or summaries.is_any(text):
        return ""
    if start.startswith("<command-"):
        return _command(text)
    if start.startswith(_RULE_FILE[0]):
        return own_words(text.partition(_RULE_FILE[1])[2])
    if start.startswith(_EDITOR):
        asked = _ASKED.search(text)
        return own_words(text[asked.end() :]) if asked else ""
    return _without_end(_without_front(text) if start.startswith("<") else text)


def _command(text: str) -> str:
    name, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
    if name is None or name[1].lstrip("/") in _OF_THE_CLIENT:
        return ""
    return f"/{name[1].lstrip('/')} {arguments[1].strip() if arguments else ''}".strip()


def _without_front(text: str) -> str:
    """Take off what a text begins with; files alone are what the user says."""
    inside = [found[2].strip() for found in _INSIDE.finditer(text)]
    if inside:
        return "\n".join(inside)
    rest = text
    while found := _IN_FRONT.match(rest) or _IMAGE_TAG.match(rest):
        rest = rest[found.end() :]
    if _NEVER_CLOSED.match(rest):
        return ""
    is_files = re.match(rf"\s*<(?:{_FILES})\b", text) is not None
    return text if is_files and not rest.strip() else rest


def _without_end(text: str) -> str:
    """Take off what a harness put behind the words."""
    while found := _AT_THE_END.search(text, max(0, len(text) - 200)):
        start = text.rfind(f"<{found[1]}", 0, found.start())
        if start <= 0:
            break
        text = text[:start]
    return text


_WORD = re.compile(r"[^\W\d_]{2,}")
_NAME = re.compile(r"\w[./_:#-]\w|#\d|\w\(|[`\"']\w")
_AGREES = frozenset(
    """again ahead all alright and changes commit continue do fine go good great it let lets
    looks next now ok okay on perfect please proceed push right sounds start stop sure thank
    thanks that the then this to too try yeah yep yes you""".split()
)
"""Words that send the agent on with what it was about to do."""
_WIDE = (0x3040, 0xD7AF)
"""Where the signs of scripts begin and end that write no spaces between words."""
_FEW_WORDS, _FEW_SIGNS = 1, 4
_LOOKED_AT = 400
"""Characters of a request that are looked at."""


def says_something(words: str) -> bool:
    """Return True if words say what is to be done, not just "y", "1", "go on" or "commit"."""
    start = words[:_LOOKED_AT]
    telling = [word for word in _WORD.findall(start.lower()) if word not in _AGREES]
    wide = sum(_WIDE[0] <= ord(sign) <= _WIDE[1] for sign in start)
    return len(telling) > _FEW_WORDS or wide > _FEW_SIGNS or bool(_NAME.search(start))
