"""What happens to files: lines lost, repeated, moved, cut, glued; bytes of anything."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

SPLICES = (
    b"\0",
    b"\0" * 512,
    b"\xff",
    b'"',
    b"{}",
    b"NaN",
    b"\\ud83d",
    b"\n",
    b"\r",
    b"\xef\xbb\xbf",
)
SPLICES += (b"[" * 2000, b"//", b"null", b"\xe2\x80\xa8", b"1e999", b"}", b"{", b",")

_MOST = 6
_LONGEST = 4000


def delete(lines: list[bytes], random: Random) -> None:
    """Lose a stretch of lines."""
    at = random.randrange(len(lines))
    del lines[at : at + random.randint(1, max(1, len(lines) // 4))]


def repeat(lines: list[bytes], random: Random) -> None:
    """Write lines a second time, behind themselves or anywhere."""
    at = random.randrange(len(lines))
    again = lines[at : at + random.randint(1, 5)]
    to = random.choice((at + len(again), random.randint(0, len(lines))))
    lines[to:to] = again


def swap(lines: list[bytes], random: Random) -> None:
    """Change two lines for one another."""
    one, other = (random.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]


def move(lines: list[bytes], random: Random) -> None:
    """Put a line elsewhere."""
    line = lines.pop(random.randrange(len(lines)))
    lines.insert(random.randint(0, len(lines)), line)


def shuffle(lines: list[bytes], random: Random) -> None:
    """Mix a stretch, or all."""
    start = random.choice((0, random.randrange(len(lines))))
    stop = random.choice((len(lines), min(len(lines), start + 12)))
    part = lines[start:stop]
    random.shuffle(part)
    lines[start:stop] = part


def turn(lines: list[bytes], _: Random) -> None:
    """Write the last line first."""
    lines.reverse()


def end(lines: list[bytes], random: Random) -> None:
    """Stop early, between lines or inside one."""
    at = random.randrange(len(lines))
    lines[at:] = [lines[at][: random.randint(0, len(lines[at]))]]


def cut(lines: list[bytes], random: Random) -> None:
    """Lose the end of a line in the middle."""
    at = random.randrange(len(lines))
    lines[at] = lines[at][: random.randint(0, len(lines[at]))] + b"\n"


def glue(lines: list[bytes], random: Random) -> None:
    """Lose the line ends between lines."""
    at = random.randrange(len(lines))
    stop = at + random.randint(2, 4)
    lines[at:stop] = [b"".join(line.rstrip(b"\r\n") for line in lines[at:stop]) + b"\n"]


def splice(lines: list[bytes], random: Random) -> None:
    """Put odd bytes into a line, or in place of some of its own."""
    at = random.randrange(len(lines))
    byte = random.randint(0, len(lines[at]))
    rest = lines[at][byte + random.choice((0, 0, 1, 9)) :]
    lines[at] = lines[at][:byte] + random.choice(SPLICES) + rest


def flip(lines: list[bytes], random: Random) -> None:
    """Change single bytes."""
    at = random.randrange(len(lines))
    changed = bytearray(lines[at])
    for _ in range(random.randint(1, 4) if changed else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    lines[at] = bytes(changed)


EVERY: tuple[Callable[[list[bytes], Random], None], ...] = (
    delete,
    repeat,
    swap,
    move,
    shuffle,
    turn,
    end,
    cut,
    glue,
    splice,
    flip,
)


def damaged(lines: Sequence[bytes], random: Random) -> tuple[list[bytes], list[str]]:
    """Give a broken copy of a file, as lines, and what was done to it."""
    broken = list(lines)
    done: list[str] = []
    for _ in range(random.randint(1, _MOST)):
        if not broken:
            break
        harm = random.choice(EVERY)
        harm(broken, random)
        done.append(harm.__name__)
    return as_lines(b"".join(broken)), done


def noise(random: Random) -> list[bytes]:
    """Give bytes of anything: random ones, or pieces of JSON put together."""
    if random.random() < 1 / 3:
        return as_lines(random.randbytes(random.randint(1, _LONGEST)))
    pieces = (*SPLICES, b'{"type":"', b"user", b'"}', b'{"role":', b'"content":', b"[", b"]", b"\n")
    many = random.randint(1, _LONGEST // 40)
    return as_lines(b"".join(random.choice(pieces) for _ in range(many)))


def as_lines(data: bytes) -> list[bytes]:
    """Part bytes into lines, as a file is read."""
    return list(io.BytesIO(data))
