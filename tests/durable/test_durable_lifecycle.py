"""A pending item changes its status only by a step of its own, later and confirmed anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactctl.durable.lifecycle import latest, transition_pending_item
from compactctl.durable.records import PendingItem, to_json
from compactctl.errors import InvalidTranscriptError

TIME = "2025-01-31T12:00:00Z"
LATER = "2025-01-31T12:00:01Z"
SOURCE = "transcript:s:1"
NEW = "transcript:s:2"


def item(status="open", reason=None):
    if status == "blocked":
        reason = reason or "no key"
    return PendingItem("p1", "migrate", SOURCE, TIME, status, reason)


def step(before, status, **more):
    more = {"last_confirmed_at": LATER, "source_pointer": NEW} | more
    if status == "blocked":
        more = {"reason": "no key"} | more
    return transition_pending_item(before, status, **more)


STEPS = [("open", "blocked"), ("open", "done"), ("blocked", "open"), ("blocked", "done")]


@pytest.mark.parametrize(("before", "after"), STEPS)
def test_a_step_that_is_allowed_is_taken(before, after):
    old = item(before)
    new = step(old, after)
    assert (new.status, new.last_confirmed_at, new.source_pointer) == (after, LATER, NEW)
    assert (new.item_id, new.description) == ("p1", "migrate")
    assert new.reason == ("no key" if after == "blocked" else None)
    assert old == item(before)


@pytest.mark.parametrize("before", ["open", "blocked", "done"])
@pytest.mark.parametrize("after", ["open", "blocked", "done"])
def test_any_other_step_is_refused(before, after):
    if (before, after) in STEPS:
        return
    with pytest.raises(InvalidTranscriptError, match=r"final|already"):
        step(item(before), after)


@pytest.mark.parametrize("time", [TIME, "2025-01-31T11:59:59Z", "2025-01-31T13:30:00+02:00"])
def test_the_confirmation_is_later_as_an_instant(time):
    with pytest.raises(InvalidTranscriptError, match=f"later than {TIME}"):
        step(item(), "done", last_confirmed_at=time)
    assert step(item(), "done", last_confirmed_at="2025-01-31T10:30:00-02:00").status == "done"


@pytest.mark.parametrize("source", [None, SOURCE])
def test_blocked_and_done_need_a_new_source_and_open_does_not(source):
    for status in ("blocked", "done"):
        with pytest.raises(InvalidTranscriptError, match="source_pointer"):
            step(item(), status, source_pointer=source)
    assert step(item("blocked"), "open", source_pointer=source).source_pointer == SOURCE


@pytest.mark.parametrize("reason", [None, "", " "])
def test_blocked_needs_a_reason(reason):
    with pytest.raises(InvalidTranscriptError, match="reason"):
        step(item(), "blocked", reason=reason)


@pytest.mark.parametrize("status", ["open", "done"])
def test_only_blocked_has_a_reason(status):
    with pytest.raises(InvalidTranscriptError, match="reason"):
        step(item("blocked"), status, reason="why")


def test_all_that_is_wrong_with_a_step_is_named_at_once():
    with pytest.raises(InvalidTranscriptError) as caught:
        step(item(), "done", last_confirmed_at=TIME, source_pointer=SOURCE)
    assert "later" in str(caught.value)
    assert "source_pointer" in str(caught.value)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_the_ends_of_the_calendar_are_compared(time):
    old = PendingItem("p1", "migrate", SOURCE, time)
    with pytest.raises(InvalidTranscriptError, match="later"):
        step(old, "done", last_confirmed_at=time)


def test_a_history_comes_to_what_each_item_is_now_at_its_first_place():
    blocked = step(item(), "blocked")
    opened = transition_pending_item(blocked, "open", last_confirmed_at="2025-02-01T00:00:00Z")
    other = PendingItem("p2", "other", SOURCE, TIME)
    assert latest([item(), other, blocked, opened]) == (opened, other)


@pytest.mark.parametrize(
    "items",
    [
        [item(), item()],
        [item(), PendingItem("p1", "something else", NEW, LATER, "done")],
        [step(item(), "done"), item()],
        [item(), step(item(), "blocked"), step(item(), "done")],
    ],
    ids=["twice", "another item of that id", "backwards", "past what came between"],
)
def test_a_history_that_is_none_is_refused(items):
    with pytest.raises(InvalidTranscriptError):
        latest(items)


TIMES = st.datetimes(timezones=st.timezones()).map(lambda time: time.isoformat())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["open", "blocked", "done"]),
            TIMES,
            st.sampled_from([SOURCE, NEW, None]),
            st.sampled_from(["why", None]),
        )
    )
)
def test_whatever_is_tried_the_history_holds(tries):
    history = [item()]
    for status, time, source, reason in tries:
        before = to_json(history[-1])
        try:
            new = transition_pending_item(
                history[-1],
                status,
                last_confirmed_at=time,
                source_pointer=source,
                reason=reason,
            )
        except InvalidTranscriptError:
            continue
        assert before == to_json(history[-1])
        history.append(new)
    assert latest(history) == (history[-1],)
    assert len({one.last_confirmed_at for one in history}) == len(history)
