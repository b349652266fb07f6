"""Hypothesis: the sizes that agents record of what each call was sent."""

from __future__ import annotations

from hypothesis import strategies as st

_SIZES = st.sampled_from((0, 1, 90, 1_000, 20_011, 195_486))


def with_usages(draw, format_name, records):
    """Let some lines record a usage, in the way of the format that knows one."""
    write = _WAYS.get(format_name)
    return records if write is None or not draw(st.booleans()) else list(write(draw, records))


def anthropic(size):
    """A usage as the Messages API returns it."""
    parts = {"cache_creation": {"ephemeral_5m_input_tokens": size // 3}, "iterations": []}
    read = size - min(size, 3) - size // 3
    sizes = {"cache_creation_input_tokens": size // 3, "cache_read_input_tokens": read}
    return {"input_tokens": min(size, 3), "output_tokens": 70} | sizes | parts


def of_pi(size):
    """A usage as pi records it."""
    total = {"totalTokens": size + 70} if size else {}
    return {"input": 0, "output": 70, "cacheRead": size, "cacheWrite": 0} | total


def token_count(size):
    """A line of Codex that records a usage."""
    last = {"input_tokens": size, "cached_input_tokens": size // 2, "output_tokens": 70}
    last["total_tokens"] = size + 70
    info = (
        {"total_token_usage": {"total_tokens": 10**6}, "last_token_usage": last} if size else None
    )
    payload = {"type": "token_count", "info": info}
    return {"timestamp": "", "type": "event_msg", "payload": payload}


def _in_answers(usage):
    def write(draw, records):
        for record, own in records:
            message = record.get("message")
            if isinstance(message, dict) and message.get("role") == "assistant":
                message["usage"] = usage(draw(_SIZES))
            yield record, own

    return write


def _apart(draw, records):
    for record, own in records:
        yield record, own
        if draw(st.integers(0, 3)) == 3:
            yield token_count(draw(_SIZES)), None


_WAYS = {"claude-code": _in_answers(anthropic), "pi": _in_answers(of_pi), "codex": _apart}
