"""Sentences that lay down a rule or name a next step, picked from prose.

Words of several languages tell them; lines of code, tables, listings, logs and questions are
passed over.
"""

from __future__ import annotations

import re

_RULE = (
    r"\b(?:must|never|always|only|do not|don['’]t|without|keep|avoid|ensure|make sure|be sure"
    r"|should(?:n['’]t)?|shall|no longer|no more than|at most|at least|prefer(?:s|red|ably)?"
    r"|required?|mandatory|forbidden|not allowed|may not|remember|instead of|rather than|stick to"
    r"|under no circumstances|(?:use|using|want|with) [^.\n]{1,60}, not"
    r"|muss|müssen|niemals|nie|immer|nur|nicht|ohne|keine?n?|darf|sollte?n?|vermeide\w*"
    r"|jamais|toujours|doit|doivent|sans|évite[rz]?|uniquement|ne [\w'’]+ pas"
    r"|nunca|siempre|debes?|deben|sin|evita[r]?|solamente|sempre|deve[m]?|sem|mai|senza"
    r"|никогда|всегда|только|нельзя|обязательно|долж\w+|не (?:надо|нужно|трогай|меняй)|без)\b"
    r"|不要|必须|必須|只能|禁止|务必|總是|总是|一定要|不能|不得|不可|不许|请勿|始终|确保|確保|保证|避免"
    r"|应该|應該|别再|永远不|必ず|しないで|ないでください|してはいけ|してはなら|しないこと|常に|絶対"
    r"|避けて|だけ|べき|반드시|하지 ?마|항상|절대|않도록|말아"
)
_NEXT = (
    r"\W*(?:(?:next(?: steps?| up)?|then|remaining|still (?:need|to|missing|left|open)|to-?dos?"
    r"|pending|left to do|open (?:items?|questions?)|follow-?ups?|not yet"
    r"|(?:I['’]ll|I will|we (?:still )?(?:need|should|can)) (?:now|then|next))\b"
    r"|下一步|接下来|剩下|次に|次は|残り|als nächstes|ensuite|luego|дальше|다음)"
)
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(
    r"\s*(?:\||\+[-=+]|(?:>|\$ |%|#|//|/\*|@@|diff |[+-]{3} )"
    r"|\d+\s*[:→│|\t]"  # a line of a listing, by its number
    r"|\[?\d{4}-\d\d-\d\d[T ]|\[\d|(?:INFO|WARN|ERROR|DEBUG)\b|at \S+[(:]"
    r"|(?:def|class|import|assert|const|let|var|func|fn|pub|export|elif|public|private)\s+[\w{(]"
    r"|from \S+ import|return\b[^.]*$|(?:if|for|while|switch|catch)\s*\(|</?\w[^>]*>\s*$"
    r"|[\"'][^\"']*[\"']\s*:)"
)
_CODE = re.compile(
    r"[;{}]\s*$|=>|[!=]==?\s|\w [-+*/|&]?= [\w\"'\[({]|\w\([^)]*\)\s*[:;{]|^\s{8,}|::|->"
)
_BULLET = re.compile(r"\A\s*(?:[-*•]|\d{1,3}[.)]|\[[ xX]\])\s+")
_WRAPPED = re.compile(r"(?<=[\w,;’'\")])\n(?=[a-z(])")
_END = re.compile(r"(?<=[.!])\s+(?=\S)|(?<=[?])\s+|(?<=[。！])|(?<=[？])|\n+")
_OF_ONESELF = re.compile(
    r"\b(?:I|they) (?:(?:just|also|really|still) )?"
    r"(?:don['’]t|do not|never|always|only|keep|should)\b|\bshould I\b",
    re.IGNORECASE,
)
"""What somebody does or does not do, and no rule for others."""
_QUESTION = ("?", "？", "吗", "か。")
_SHORTEST, _LONGEST = 4, 600
"""Characters of a sentence: less says nothing, more is none."""


def rules_in(words: str) -> list[str]:
    """Return the sentences of prose that lay down a rule, as they stand."""
    rule = re.compile(_RULE, re.IGNORECASE)
    if not rule.search(words):
        return []
    return [one for one in _sentences(words) if rule.search(_OF_ONESELF.sub("", one))]


def steps_in(words: str) -> list[str]:
    """Return the sentences of prose that begin with what is to be done next."""
    step = re.compile(_NEXT, re.IGNORECASE)
    return [one for one in _sentences(words) if step.match(one)]


def _sentences(words: str) -> list[str]:
    """Return the sentences of prose, but for questions."""
    prose = "\n".join(_prose(_FENCED.sub("\n", words)))
    return [
        sentence
        for found in _END.split(_WRAPPED.sub(" ", prose))
        if _SHORTEST <= len(sentence := " ".join(found.split())) <= _LONGEST
        if not sentence.rstrip(")\"'”’* ").endswith(_QUESTION)
    ]


def _prose(words: str) -> list[str]:
    """Return the lines that are neither code, table nor listing, without the signs of lists."""
    return [
        _BULLET.sub("", line)
        for line in words.split("\n")
        if line.count("|") < 2 and not _NO_PROSE.match(line) and not _CODE.search(line)  # noqa: PLR2004 (a row has two)
    ]
