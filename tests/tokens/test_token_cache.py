"""Counts that are kept from one process to the next, and what must never depend on them."""

import os
import stat
import subprocess
import sys

import pytest
from helpers.token_samples import texts
from hypothesis import given

from compactctl.tokens import Counter, cache, counter, engines

NAME = "o200k_base"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder for the counts, and nothing in the environment that forbids it."""
    monkeypatch.delenv(cache.SWITCH_VARIABLE, raising=False)
    monkeypatch.delenv(engines.ENGINE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def asked(home, monkeypatch):  # noqa: ARG001 (where counts are kept)
    """The texts that reach an engine, which gives each its length."""
    texts = []
    monkeypatch.setattr(
        engines, "choose_engine", lambda *_: (lambda text: texts.append(text) or len(text), 1e9)
    )
    return texts


def a_process():
    """A counter as a new process has it."""
    count = Counter(NAME)
    count.use_cache()
    return count


def leave(*counted):
    count = a_process()
    for text in counted:
        count.count(text)
    count.save()
    return count


def file_in(home):
    return home / "compactctl" / f"{NAME}.counts"


def test_what_one_process_counted_the_next_one_knows(asked):
    leave("one", "a\ud800b")
    later = a_process()
    assert [later.count("one"), later.measure("a\ud800b"), later.total(["one", "two!"])] == [
        3,
        3,
        7,
    ]
    assert asked == ["one", "a\ud800b", "two!"]


def test_totals_measures_and_sums_are_kept_too(asked):
    first = a_process()
    first.total(["one", "two"])
    first.measure("three")
    first.remember("four", 4)
    first.save()
    asked.clear()
    later = a_process()
    assert later.total(["one", "two", "three", "four"]) == 15
    assert asked == []


@pytest.mark.usefixtures("asked")
def test_a_sum_is_not_kept_for_a_text_that_would_be_cut(home):
    first = a_process()
    first.remember("a" * (cache.LONGEST + 1), 1)
    first.save()
    assert not file_in(home).exists()


@pytest.mark.usefixtures("asked")
def test_nothing_is_kept_unless_a_command_asks_for_it(home):
    count = Counter(NAME)
    count.count("one")
    count.save()
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "value"), [("COMPACTCTL_CACHE", "off"), (engines.ENGINE_VARIABLE, "tiktoken")]
)
def test_it_can_be_switched_off(home, asked, monkeypatch, variable, value):
    leave("one")
    monkeypatch.setenv(variable, value)
    before = file_in(home).read_bytes()
    leave("one", "two")
    assert asked == ["one", "one", "two"]
    assert file_in(home).read_bytes() == before


def test_a_quarter_of_the_characters_is_not_kept(home):
    count = Counter("chars")
    count.use_cache()
    count.count("one")
    count.save()
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("asked")
def test_only_the_owner_may_read_it_and_no_word_is_in_it(home):
    leave("a secret of some length")
    path = file_in(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert b"secret" not in path.read_bytes()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.usefixtures("asked")
def test_a_process_that_counts_nothing_new_writes_nothing(home):
    leave("one")
    before = file_in(home).stat()
    leave("one")
    leave()
    again = leave("one")
    again.remember("one", 3)
    again.save()
    assert file_in(home).stat() == before


def damaged(data):
    return {
        "empty": b"",
        "foreign": b"something else",
        "short": data[:-1],
        "a record less": data[:-20],
        "a record more": data + b"x" * 20,
        "a bit": data[:-1] + bytes([data[-1] ^ 1]),
        "older": data.replace(b"counts 1", b"counts 0"),
        "huge": data + b"\0" * 20 * cache.RECORDS,
    }


@pytest.mark.parametrize("harm", damaged(b"x" * 99))
def test_a_damaged_file_is_ignored_and_replaced(home, asked, harm):
    leave("one", "two")
    file_in(home).write_bytes(damaged(file_in(home).read_bytes())[harm])
    asked.clear()
    assert a_process().total(["one"]) == 3
    leave("one")
    leave("one")
    assert asked == ["one", "one"]


@pytest.mark.usefixtures("asked")
def test_a_pipe_in_its_place_is_not_waited_for(home):
    file_in(home).parent.mkdir()
    os.mkfifo(file_in(home))
    assert a_process().count("one") == 3


def plant_by_link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def plant_folder_by_link(path):
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to("elsewhere")


def give_away(path):
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    os.chown(path, 12345, -1)


@pytest.mark.parametrize(
    "plant",
    [
        lambda path: path.chmod(0o620),
        lambda path: path.chmod(0o602),
        lambda path: path.parent.chmod(0o770),
        lambda path: path.parent.chmod(0o1777),
        plant_by_link,
        plant_folder_by_link,
        give_away,
        lambda path: give_away(path.parent),
    ],
    ids="group others folder-group folder-others link folder-link owner folder-owner".split(),
)
def test_counts_that_another_user_could_plant_are_not_believed(home, asked, plant):
    leave("one")
    plant(file_in(home))
    planted = file_in(home).resolve().read_bytes()
    asked.clear()
    assert leave("one", "two").count("one") == 3
    assert asked == ["one", "two"]
    # Nor does anything of this user's go to where another led it.
    assert "elsewhere" not in str(file_in(home).resolve()) or (
        file_in(home).resolve().read_bytes() == planted
    )


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_counts_that_others_can_only_read_are_believed(home, asked, mode):
    leave("one")
    file_in(home).chmod(mode)
    file_in(home).parent.chmod(0o755)
    asked.clear()
    assert a_process().count("one") == 3
    assert asked == []


@pytest.mark.usefixtures("asked")
def test_a_folder_that_cannot_be_made_is_no_error(home):
    (home / "compactctl").write_bytes(b"a file is in the way")
    assert leave("one").count("one") == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.usefixtures("asked")
def test_a_folder_that_cannot_be_written_is_no_error(home):
    file_in(home).parent.mkdir(mode=0o500)
    assert leave("one").count("one") == 3


@pytest.mark.usefixtures("asked")
def test_a_replacement_that_fails_leaves_no_file_behind(home):
    file_in(home).mkdir(parents=True)
    leave("one")
    assert list(file_in(home).parent.iterdir()) == [file_in(home)]


@pytest.mark.parametrize("given", ["", "relative/folder"])
@pytest.mark.usefixtures("home")
def test_without_an_absolute_folder_it_is_in_the_home(monkeypatch, tmp_path, given):
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.path_of(NAME) == f"{tmp_path}/.cache/compactctl/{NAME}.counts"
    for home in ("nowhere", str(tmp_path / "not-there")):  # no home is made
        monkeypatch.setenv("HOME", home)
        assert cache.path_of(NAME) is None


def test_the_newest_are_kept(asked, monkeypatch):
    monkeypatch.setattr(cache, "RECORDS", 3)
    leave("1", "22")
    leave("333", "4444")
    asked.clear()
    later = a_process()
    assert later.total(["1", "22", "333", "4444"]) == 10
    assert asked == ["1"]


def test_very_much_at_once_is_not_looked_up(asked, monkeypatch):
    monkeypatch.setattr(cache.TokenCache, "MOST_CHARACTERS", 5)
    leave("one")
    later = a_process()
    assert later.total(["one", "two"]) == 6
    later.save()
    assert asked == ["one", "one", "two"]


def test_two_processes_at_once_keep_the_counts_of_both(asked):
    first, second = a_process(), a_process()
    first.count("one")
    second.count("two")
    first.save()
    second.save()
    asked.clear()
    assert a_process().total(["one", "two"]) == 6
    assert asked == []


def test_processes_that_write_at_the_same_time_leave_a_sound_file(home):
    script = (
        "import sys; from compactctl.tokens import cache; import os\n"
        "for n in range(40):\n"
        "    some = cache.TokenCache(cache.path_of('o200k_base'))\n"
        "    some.add({f'{sys.argv[1]} {n}': n})\n"
        "    some.save(); assert cache._read(cache.path_of('o200k_base'))"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, who]) for who in "ab"]
    assert [each.wait(60) for each in running] == [0, 0]
    assert len(cache._read(cache.path_of(NAME))) >= 40 * 20
    assert [each.name for each in file_in(home).parent.iterdir()] == [file_in(home).name]


@given(text=texts)
def test_a_count_that_was_kept_is_the_count(tmp_path_factory, text):
    path = str(tmp_path_factory.mktemp("counts") / "compactctl" / "some.counts")
    some = cache.TokenCache(path)
    tokens = counter.load_counter(NAME).count(text)
    some.add({text: tokens})
    some.save()
    assert cache.TokenCache(path).find([text, f"{text}."]) == {text: tokens}
