"""The provider on this machine answers as its script says, and keeps what it was sent."""

import http.client
import json
from urllib.parse import urlsplit

import loopback
import pytest
from loopback import Loopback, Run
from streams import Call, Reply

BOTH = Reply("I look.", (Call("Read", {"path": "a"}),), thought="First the file.")


@pytest.fixture(scope="module")
def server():
    with Loopback() as running:
        yield running


def post(url, path, body):
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=10)
    connection.request("POST", f"{place.path}{path}", json.dumps(body))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def events(text):
    return [
        json.loads(line.removeprefix("data: "))
        for line in text.splitlines()
        if line.startswith("data: ")
    ]


def test_a_message_comes_as_the_blocks_of_the_script(server):
    with server.serving(Run([BOTH])) as url:
        status, text = post(url, "/v1/messages?beta=true", {"model": "m", "messages": []})
    starts = [e["content_block"] for e in events(text) if e["type"] == "content_block_start"]
    deltas = [e["delta"] for e in events(text) if e["type"] == "content_block_delta"]
    assert status == 200
    assert [start["type"] for start in starts] == ["thinking", "text", "tool_use"]
    assert [delta["type"] for delta in deltas] == [
        *("thinking_delta", "signature_delta", "text_delta", "input_json_delta")
    ]
    assert json.loads(deltas[-1]["partial_json"]) == {"path": "a"}
    assert events(text)[-2]["delta"]["stop_reason"] == "tool_use"
    assert events(text)[-1]["type"] == "message_stop"


def test_a_response_comes_as_the_items_of_the_script(server):
    with server.serving(Run([BOTH])) as url:
        _, text = post(url, "/v1/responses", {"model": "m", "input": []})
    items = [e["item"] for e in events(text) if e["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call"]
    assert json.loads(items[-1]["arguments"]) == {"path": "a"}
    assert events(text)[-1]["response"]["output"] == items


def test_no_two_calls_have_one_id(server):
    with server.serving(Run([BOTH, BOTH])) as url:
        texts = [post(url, "/v1/responses", {"input": []})[1] for _ in range(2)]
    ids = [e["item"].get("call_id") for text in texts for e in events(text) if "item" in e]
    assert len(set(filter(None, ids))) == 2


def test_the_requests_of_a_run_are_kept_in_order_and_apart_from_others(server):
    one, other = Run(), Run()
    with server.serving(one) as url, server.serving(other) as elsewhere:
        post(url, "/v1/messages", {"messages": [1]})
        post(elsewhere, "/v1/messages", {"messages": [2]})
        post(url, "/v1/messages", {"messages": [3]})
    assert [body["messages"] for body in one.bodies] == [[1], [3]]
    assert [body["messages"] for body in other.bodies] == [[2]]


def test_what_is_answered_aside_takes_no_line_of_the_script(server):
    run = Run([Reply("the next")], aside=lambda body: Reply("a summary") if "sum" in body else None)
    with server.serving(run) as url:
        texts = [post(url, "/v1/messages", body)[1] for body in ({"sum": 1}, {}, {})]
    said = [
        next(e["delta"]["text"] for e in events(t) if "text" in e.get("delta", {})) for t in texts
    ]
    assert said == ["a summary", "the next", "Done."]


def test_the_usage_grows_with_the_request(server):
    with server.serving(Run()) as url:
        sizes = [
            events(post(url, "/v1/messages", {"messages": ["x" * size]})[1])[0]["message"]["usage"]
            for size in (10, 4010)
        ]
    assert sizes[1]["input_tokens"] - sizes[0]["input_tokens"] == 1000


def test_an_agent_that_goes_in_circles_is_stopped(server):
    run = Run()
    with server.serving(run) as url:
        for _ in range(loopback.MAX_REQUESTS):
            assert post(url, "/v1/messages", {})[0] == 200
        assert post(url, "/v1/messages", {})[0] == 400


@pytest.mark.parametrize("path", ["/v1/models", "/v1/complete"])
def test_nothing_else_is_served(server, path):
    run = Run()
    with server.serving(run) as url:
        assert post(url, path, {})[0] == 404
    assert run.bodies == []


def test_a_run_that_is_over_is_not_served(server):
    with server.serving(Run()) as url:
        pass
    assert post(url, "/v1/messages", {})[0] == 404


def test_it_listens_on_this_machine_only(server):
    assert server._server.server_address[0] == "127.0.0.1"
