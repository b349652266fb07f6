"""The names that the package gives to Python, and what asking for them costs."""

import subprocess
import sys

import pytest

import compactctl


@pytest.mark.parametrize("name", compactctl.__all__)
def test_every_name_is_there(name):
    assert getattr(compactctl, name) is getattr(compactctl, name)
    assert name in dir(compactctl)


def test_no_other_name_is():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        compactctl.nonsense  # noqa: B018 (that is the question)


def test_importing_the_package_imports_nothing_else():
    code = "import sys, compactctl; print(*(n for n in sys.modules if 'compactctl.' in n))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["compactctl._version"]


def test_the_story_of_a_fact_in_python(tmp_path):
    (tmp_path / "s.jsonl").write_text('{"role":"user","content":"Half up, once."}\n')
    time = "2026-01-01T00:00:00Z"
    fact = compactctl.DurableFact("rounding", "Half up, once.", "transcript:s:1", time)
    item = compactctl.PendingItem("commit", "Commit it.", "transcript:s:1", time)
    done = compactctl.transition_pending_item(
        item, "done", last_confirmed_at="2026-01-02T00:00:00Z", source_pointer="transcript:s:2"
    )
    state = compactctl.DurableContextState((fact,), (done,))
    resolver = compactctl.SourcePointerResolver(tmp_path, authorize=lambda p: p.session == "s")
    resolutions = compactctl.resolve_durable_sources(state, resolver)
    assert [found.status for found in resolutions] == ["available", "missing"]
    text = compactctl.render_durable_context(state, resolutions)
    assert 'content="Half up, once."; source="transcript:s:1"; source_status=available' in text
    assert "status=done" in text
