"""How many tokens a text, a message or a view takes.

Importing this loads no tokenizer. The first text that is counted loads one, so a process in which
a bound answers every question (``Counter.fits``) never pays for it.
"""

from __future__ import annotations

from compactctl.tokens.cost import count_block, count_message, count_view, recount_view
from compactctl.tokens.counter import Counter, counter_for_one, load_counter

__all__ = ["Counter", "count_block", "count_message", "count_view", "counter_for_one"]
__all__ += ["load_counter", "recount_view"]
