"""How many tokens a text, a message or a view takes (CONTRACT §8).

Importing this loads no tokenizer. One is loaded when a text is first counted, and a process in
which a bound answers every question (``Counter.fits``) never pays for one.
"""

from __future__ import annotations

from compactctl.tokens.cost import count_block, count_message, count_view, recount_view
from compactctl.tokens.counter import Counter, counter_for_one, load_counter

__all__ = ["Counter", "count_block", "count_message", "count_view", "counter_for_one"]
__all__ += ["load_counter", "recount_view"]
