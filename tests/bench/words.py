"""Text out of one seeded source."""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Sequence
from typing import Any

from vocabulary import CODE, LOGS, NOUNS, PHRASES, QUALITIES, VERBS


class Words:
    """Names, numbers, sentences and lines of text, drawn from one seeded source."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.draw = self.random.random
        self.names = [
            *(f"{q}_{n}" for q in QUALITIES for n in NOUNS),
            *(f"{v}_{n}" for v in VERBS for n in NOUNS),
            *NOUNS * 40,
        ]
        self.clock = 0.0

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.draw() * len(items))]

    def between(self, low: int, high: int) -> int:
        return low + int(self.draw() * (high - low + 1))

    def size(self, low: int, high: int) -> int:
        """Draw a size so that every order of magnitude is as likely as the next."""
        return int(low * math.exp(self.draw() * math.log(high / low)))

    def chance(self, share: float) -> bool:
        return self.draw() < share

    def name(self) -> str:
        return self.names[int(self.draw() * len(self.names))]

    def noun(self) -> str:
        return NOUNS[int(self.draw() * len(NOUNS))]

    def verb(self) -> str:
        return VERBS[int(self.draw() * len(VERBS))]

    def kind(self) -> str:
        return self.noun().title() + self.noun().title()

    def number(self) -> int:
        return self.size(1, 100_000)

    def hexadecimal(self, digits: int) -> str:
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def base64(self, size: int) -> str:
        data = self.random.getrandbits(8 * size).to_bytes(size, "big")
        return base64.b64encode(data).decode()

    def uuid(self) -> str:
        digits = self.hexadecimal(32)
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def phrase(self) -> str:
        return self.pick(PHRASES)(self)

    def prose(self, chars: int) -> str:
        sentences: list[str] = []
        while chars > 0:
            sentences.append(self.phrase())
            chars -= len(sentences[-1]) + 1
        return " ".join(sentences)

    def code(self, lines: int) -> list[str]:
        """Write code-like lines, indented as code is."""
        depth = 0
        text = [
            f'"""{self.phrase()}"""',
            "",
            f"from {self.noun()}.{self.noun()} import {self.kind()}",
        ]
        while len(text) < lines:
            line = CODE[int(self.draw() * len(CODE))](self)
            if line.startswith(("def ", "class ")):
                text.append("")
                depth = self.between(0, 1)
            text.append("    " * depth + line if line else "")
            if line.endswith(":"):
                depth = min(depth + 1, 4)
            elif line.startswith(("return", "raise", "continue")):
                depth = max(depth - 1, 1)
        return text

    def log(self, chars: int) -> str:
        """Write the output of some command: a test run, a server, a build, JSON lines."""
        line = self.pick(LOGS)
        lines: list[str] = []
        while chars > 0:
            lines.append(line(self))
            chars -= len(lines[-1]) + 1
        return "\n".join(lines)

    def stamp(self) -> str:
        self.clock += self.draw() * 0.4
        seconds, rest = divmod(self.clock, 1)
        minutes, seconds = divmod(int(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours % 24:02d}:{minutes:02d}:{seconds:02d}.{int(rest * 1000):03d}"
