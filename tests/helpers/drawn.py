"""Views that a provider takes, drawn at random, and the shapes that break one rule each."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from compactctl.model import Block, Image, Message
from helpers.builders import call, result, text, thinking

PNG = Block("image", image=Image("image/png", 3000, 640, 480))


def image(media_type="image/png", size=3000, width=640, height=480):
    return Block("image", image=Image(media_type, size, width, height))


def other(name, call_id=None):
    return Block("other", type=name, call_id=call_id)


class Draft:
    """A message that can be changed."""

    def __init__(self, role, *blocks):
        self.role = role
        self.blocks = [text(block) if isinstance(block, str) else block for block in blocks]


def frozen(drafts):
    """Make a view of drafts; every block gets a line of its own."""
    entries = iter(range(10**6))
    return [
        Message(
            draft.role,
            tuple(msgspec.structs.replace(block, entry=next(entries)) for block in draft.blocks),
        )
        for draft in drafts
    ]


@st.composite
def drafts(draw, *, most=4, fewest=2):
    """Closed turns, each with a call or more, that end on the user's words.

    Every answer has a text before its calls, every message of results a prompt behind them, so
    that any of them can be taken away without leaving a message empty.
    """
    said = [Draft("user", "Mend the build.")]
    for turn in range(draw(st.integers(fewest, most))):
        thoughts = [thinking()] if draw(st.booleans()) else []
        ids = [f"toolu_{turn}_{n}" for n in range(draw(st.integers(1, 3)))]
        said.append(Draft("assistant", *thoughts, "Let me see.", *(call(i, n=1) for i in ids)))
        answers = [result(i, draw(st.sampled_from(("ok", "", "  \n")))) for i in ids]
        answers = draw(st.permutations(answers))
        said.append(Draft("user", *answers, draw(st.sampled_from(("Go on.", PNG)))))
    return said


def places(said, kind, *, within=slice(None)):
    """Where blocks of a kind stand: (draft, index) each."""
    return [
        (draft, at)
        for draft in said[within]
        for at, block in enumerate(draft.blocks)
        if block.kind == kind
    ]


def of_id(said, kind, call_id):
    """Where the block of a kind with an id stands."""
    return next((d, at) for d, at in places(said, kind) if d.blocks[at].call_id == call_id)


def rename(said, old, new):
    """Give a call and its result another id."""
    for draft in said:
        draft.blocks = [
            msgspec.structs.replace(b, call_id=new) if b.call_id == old else b for b in draft.blocks
        ]
