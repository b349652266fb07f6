"""A policy file says which sessions may be read, and a mistake in it never allows more."""

import pytest

from compactctl.durable.policy import load_policy
from compactctl.durable.resolver import SourcePointerResolver
from compactctl.errors import UsageError
from compactctl.pointers import ArtifactPointer, TranscriptPointer


def write(tmp_path, text):
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "session", "allowed"),
    [
        ("", "s", True),
        ('allow = ["sess-*"]', "sess-1", True),
        ('allow = ["sess-*"]', "other", False),
        ('allow = ["sess-*"]', "SESS-1", False),
        ('allow = ["sess-?"]', "sess-12", False),
        ("allow = []", "s", False),
        ('deny = ["secret*"]', "secret-1", False),
        ('deny = ["secret*"]', "s", True),
        ('allow = ["*"]\ndeny = ["s"]', "s", False),
        ("deny = []", "s", True),
    ],
)
def test_deny_wins_and_no_allow_means_all(tmp_path, text, session, allowed):
    policy = load_policy(write(tmp_path, text))
    assert policy(TranscriptPointer(session, 1)) is allowed
    assert policy(ArtifactPointer(session, "f", "0" * 12)) is allowed


@pytest.mark.parametrize(
    "text",
    ["allow", 'allow = "s"', "allow = [1]", 'alow = ["s"]', "[allow]\nx = 1", "a = " + "[" * 9999],
)
def test_a_malformed_policy_is_refused_by_name(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_policy(path)
    assert caught.value.file == str(path)


def test_a_policy_that_cannot_be_read_is_refused_by_name(tmp_path):
    with pytest.raises(UsageError) as caught:
        load_policy(tmp_path / "none.toml")
    assert "none.toml" in str(caught.value)
    (tmp_path / "latin.toml").write_bytes(b'deny = ["\xe9"]')
    with pytest.raises(UsageError):
        load_policy(tmp_path / "latin.toml")


def test_a_policy_is_what_the_resolver_asks(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    policy = load_policy(write(tmp_path, 'deny = ["b"]'))
    resolver = SourcePointerResolver(tmp_path, tmp_path, policy)
    assert resolver.resolve("transcript:a:1").status == "available"
    assert resolver.resolve("transcript:b:1").reason == "policy_denied"
