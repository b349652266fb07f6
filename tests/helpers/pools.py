"""What the strategies draw from: small, and with the oddities of real files."""

from __future__ import annotations

from compactctl import placeholders, summaries
from helpers.builders import text
from helpers.scribe import DOCUMENT, IMAGE, ODD_BLOCK

LONG = "\n".join(f"{n:>6}→line {n} of a long file, with words in it" for n in range(1, 16))
LOG = "\n".join([*(f"[{n:04}] step {n} done in {n * 7 % 90} ms" for n in range(20)), "7 failed"])
DENSE = "日本語の長い文章です。" * 12 + "👩‍👩‍👧‍👦" * 9
LOOKALIKE = f"{placeholders.CUT}1 of 9,999 tokens cut (00000000)]"

OUTPUTS = (
    ("ok",),
    ("File unchanged since last read. What the earlier result shows is still current.",),
    ("",),
    (),
    (LONG,),
    (LOG,),
    (DENSE,),
    ("two", "parts"),
    (LOG, IMAGE, LONG),
    (IMAGE, IMAGE),
    (f"before\n{LOOKALIKE}\nafter",),
    (placeholders.cut(placeholders.Cut("head\n" * 30, "tail", 5000), 70),),
    ("<|endoftext|> \u2028 \x85 \x1b[31m \u202e \x7f",),
    ("x" * 1200,),
    (" " * 3000,),
    ("(file truncated; more lines follow)",),
    (summaries.fence("a summary in an output"),),
    ("Process exited with code 1\nOutput:\nboom",),
    ("     1→x\n     2→y",),
    ("Task #1 created successfully: mend it",),
    (DOCUMENT,),
    (LONG, DOCUMENT),
)
WORDS = (
    "go on",
    "Always keep the tests green. Never touch main.",
    LONG,
    "word " * 90,
    "emoji 👍🏽, \u2028 and <|im_start|>",
    "</conversation_summary> <conversation_summary>",
    "- item\nGoal:\nnot a goal",
    "[compactctl: 3 earlier messages removed.]",
    IMAGE,
    ODD_BLOCK,
    DOCUMENT,
)
CARRIED = placeholders.Pruned(
    4,
    {
        placeholders.READ: ["/w/a.py"],
        placeholders.MODIFIED: ['o"dd, x'],
        placeholders.ASKED: ["do it, then stop"],
        placeholders.FAILED: ["Bash make test failed: Exit code 2; E: no"],
    },
    {placeholders.READ: 2},
)
NATIVE = """This session is being continued from a previous conversation.

Analysis:
1. I looked around.

Summary:
1. Primary Request and Intent:
   Build it. Never touch main.

7. Pending Tasks:
   - test it
"""
PROMPTS = (
    *(text(words) for words in WORDS),
    text("<system-reminder>\nuse tabs\n</system-reminder>"),
    text("<system-reminder>\nuse spaces\n</system-reminder>"),
    text("<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
    text("Caveat: The messages below were not typed", meta=True),
    text(placeholders.pruned(CARRIED), meta=True),
    text("<command-name>/plan</command-name>\n<command-args>the parser, no docs</command-args>"),
    text("<skill name='x'>\nAlways hide it.\n</skill>\n\nreview it, but change nothing"),
    text('<image name=[Image #1] path="/w/x.png">'),
    text("# Files mentioned by the user:\n\n## a: /a\n\n## My request for Codex:\nmake room"),
    text("y"),
    text(NATIVE),
    text(summaries.fence(summaries.write({"Goal": ["win"], "Files observed": ["/w/z.py"]}))),
)
PATHS = (
    "/w/a.py",
    "/w/a.py",
    "a.py",
    "./b/../a.py",
    "/w/CLAUDE.md",
    "C:\\w\\A.py",
    "c:/w/a.py",
    "",
)
PATCH = "*** Begin Patch\n*** Update File: a.py\n*** End Patch"
TODOS = (
    [{"content": "mend it", "status": "pending"}],
    [{"content": "mend it", "status": "completed"}, {"content": "ship", "status": "in_progress"}],
    [{"content": "mend it", "status": "completed"}],
)
TASKS = (
    ("TaskCreate", {"subject": "mend it"}),
    ("TaskUpdate", {"taskId": "1", "status": "in_progress"}),
    ("TaskUpdate", {"taskId": "1", "status": "completed"}),
)
GLOBS = ((), (), ("*.py",), ("/w/*", "*.md"), ("no such file",))
WINDOWS = ({}, {}, {"offset": 1, "limit": 5}, {"offset": 3}, {"limit": 2000}, {"offset": "x"})
ODD_LINES = (
    b"",
    b"   ",
    b"not json",
    b"[1, 2]",
    b"42",
    b"null",
    b"// a note",
    b"# a note",
    b"\0\0\0\0",
    b"\xff\xfe\xff",
    b'{"a": NaN}',
    b'{"type":"user","message":{"role":"us',
    b"{}",
    b'{"type":"from-the-future","role":"from-the-future","payload":{"x":[1,2]}}',
    b'{"type":5,"role":["user"],"message":"none","payload":7,"content":{"a":1}}',
    b'{"type":"user"}',
    b'{"role":"assistant","content":[]}',
)
DURABLE = (
    b'{"type":"compactctl.fact","fact_id":"f","content":"c","source_pointer":"transcript:s:1"}',
    b'{ "type" : "compactctl.pending_item", "item_id":"p","description":"\\u00e4","reason":null}',
    b'{"type":"compactctl.from_the_future","n":1e5}',
)
EXTRA = (
    b',"odd":{"n":123456789012345678901234567890,"e":1e5,"f":1.0,"d":1,"d":2,"u":"\\u00e9\\/"}}',
    b',"half":"\\ud83d","\\udc00":[{}]}',
)

SMALL = {
    "truncate": {
        "max_tokens": (40, 55, 90, 400),
        "keep": ("auto", "head", "tail", "both"),
        "batch_tokens": (None, 100),
        "skip_recent": (0, 1),
        "tool": (None, ["Bash=keep"]),
        "images": ("keep", "keep", "drop", "placeholder"),
    },
    "dedup": {"mode": ("drop", "stub"), "stale": (False, True)},
    "prune": {
        "mode": ("drop", "drop", "snip", "clear"),
        "keep_turns": (1, 2, 3, 4),
        "keep_messages": (None, 1, 4),
        "keep_tokens": (None, 1, 300),
        "head": (0, 1, 3),
        "max_messages": (4, 7),
        "keep_results": (0, 1, 3),
        "no_marker": (False, False, True),
    },
    "summarize": {
        "summarizer": ("template",),
        "keep_messages": (1, 2, 3, 5),
        "keep_tokens": (None, None, 300),
        "max_summary_tokens": (150, 220, 400),
    },
}
"""Values small enough to bite on small transcripts; what is not here has its default."""

MEASURES = ("keep_turns", "keep_messages", "keep_tokens")
"""Options of prune of which no more than one may be given."""
OF_MODE = {
    "drop": ("mode", *MEASURES, "no_marker"),
    "snip": ("mode", "head", "max_messages", "no_marker"),
    "clear": ("mode", "keep_results"),
}
"""Options of prune that each of its modes takes."""
