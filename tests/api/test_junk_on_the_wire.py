"""The real daemon hears what no client for HTTP sends: it answers in the one envelope, hangs up, and lives on."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from patrol.accounts.model import Scope
from patrol.api.peer import REQUEST_SECONDS, PeerProtocol
from tests.api.builders import House, bearer
from tests.api.wire import Heard, free_port, say, served
from tests.daemon.supervisor import Supervised, documented, supervised

HOST = b"Host: 127.0.0.1\r\n"
CLOSE = b"Connection: close\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
STATUS = b"GET /api/security/status HTTP/1.1\r\n" + HOST + CLOSE
POST = b"POST /api/ai/patrol/acknowledge HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
RUN = b"POST /api/ai/patrol/run HTTP/1.1\r\n" + HOST + CLOSE
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Daemon:
    supervised: Supervised
    port: int

    def says(self, content: bytes, *, end: bool = False) -> Heard:
        return say(self.port, content, end=end)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home, port = tmp_path_factory.mktemp("home"), free_port()
    settings = f'{documented(home)}[patrol]\nstartup_delay = "1h"\n[api]\nlisten = "127.0.0.1:{port}"\n'
    with supervised(home, settings) as started:
        started.hear("READY=1")
        yield Daemon(started, port)


def body_of(length: bytes, body: bytes) -> bytes:
    return POST + CLOSE + b"Content-Length: " + length + b"\r\n\r\n" + body


NOT_HTTP = {
    "zeros": b"\x00\xff\r\n\r\n",
    "TLS": b"\x16\x03\x01" + b"\0" * 60,
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "NUL in the path": b"GET /api/\x00 HTTP/1.1\r\n" + HOST + b"\r\n",
    "NUL in a header": GET + b"X-A: a\x00b\r\n\r\n",
    "no colon": GET + b"X-A\r\n\r\n",
    "blank before the colon": GET + b"X-A : b\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": GET + HOST + b"\r\n",
    "endless path": b"GET /" + b"a" * 300_000,
    "endless header": GET + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
    "negative length": body_of(b"-1", b"{}"),
    "length in words": body_of(b"two", b"{}"),
    "length with a sign": body_of(b"+2", b"{}"),
    "length of 23 digits": body_of(b"9" * 23, b"{}"),
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}a",
    "unknown coding": POST + b"Transfer-Encoding: gzip\r\n\r\n{}",
    "chunked twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "size of a chunk in words": POST + CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "negative chunk": POST + CHUNKED + b"-1\r\n{}\r\n0\r\n\r\n",
    "chunk of 22 digits": POST + CHUNKED + b"f" * 22 + b"\r\n{}\r\n",
    "a chunk and junk": POST + CHUNKED + b"2\r\n{}\r\nzz\r\n",
}
ANSWERED = {
    "path of %00": (b"GET /api/ai/patrol/findings/%00 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "path of no text": (b"GET /api/ai/patrol/findings/%ff%fe HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "query of no text": (
        b"GET /api/ai/patrol/findings?cursor=%ff&run_id=%00 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n",
        400,
    ),
    "path out of the tree": (b"GET /api/../healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "path of a proxy": (b"GET http://127.0.0.1/healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "path of 60000": (b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "no path": (b"OPTIONS * HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "a tunnel": (b"CONNECT a:1 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "method nobody knows": (b"FOO!#$ /healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 405),
    "method of 5000": (b"A" * 5_000 + b" / HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "empty host": (b"GET /api/security/status HTTP/1.1\r\nHost:\r\n" + CLOSE + b"\r\n", 400),
    "5000 headers": (GET + CLOSE + b"".join(b"X-%d: a\r\n" % each for each in range(5_000)) + b"\r\n", 431),
    "no text in a cookie": (
        RUN + b"Content-Length: 0\r\nCookie: patrol_session=\xff\r\nX-CSRF-Token: \xe9\r\n\r\n",
        403,
    ),
    "no text in the origin": (RUN + b"Content-Length: 0\r\nOrigin: http://[\xff\r\n\r\n", 403),
    "no text in a token": (b"GET /api/settings HTTP/1.1\r\n" + HOST + CLOSE + b"X-API-Token: \xff\r\n\r\n", 401),
    "lengths that agree": (body_of(b"2, 2", b"{}"), 400),
    "length and chunks": (POST + CLOSE + b"Content-Length: 2\r\n" + CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", 400),
    "words beside a chunk": (POST + CLOSE + CHUNKED + b"2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n", 400),
    "20000 chunks": (POST + CLOSE + CHUNKED + b"1\r\n \r\n" * 20_000 + b"0\r\n\r\n", 400),
    "chunks without end": (POST + CLOSE + CHUNKED + (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 32, 413),
    "packed body": (POST + CLOSE + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", 400),
    "deep body": (body_of(b"200000", b"[" * 200_000), 400),
    "half a character": (body_of(b"24", b'{"finding_id": "\\ud800"}'), 400),
    "expects": (POST + CLOSE + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", 400),
    "expects nonsense": (POST + CLOSE + b"Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}", 400),
}


@pytest.mark.parametrize("content", NOT_HTTP.values(), ids=NOT_HTTP)
def test_what_is_no_http_is_told_so_once(daemon: Daemon, content: bytes) -> None:
    heard = daemon.says(content)
    status, body = heard.only
    assert (heard.hung_up, status, body["error"], body["code"]) == (True, 400, "bad_request", "bad_request")


@pytest.mark.parametrize(("content", "status"), ANSWERED.values(), ids=ANSWERED)
def test_whatever_can_be_read_is_answered_in_the_one_envelope(daemon: Daemon, content: bytes, status: int) -> None:
    heard = daemon.says(content)
    answered, body = heard.only
    assert (heard.hung_up, answered) == (True, status)
    assert {"error", "code", "message"} <= set(body) <= {"error", "code", "message", "details"}
    assert body["error"] == body["code"]


def test_what_is_sent_at_once_is_answered_one_after_the_other(daemon: Daemon) -> None:
    assert [status for status, _ in daemon.says((GET + b"\r\n") * 100 + GET + CLOSE + b"\r\n").answers] == [200] * 101
    assert [status for status, _ in daemon.says(GET + b"\r\njunk\r\n\r\n").answers] == [200, 400]
    hidden = POST + b"Content-Length: 2\r\n\r\n{}" + GET + CLOSE + b"\r\n"
    assert [status for status, _ in daemon.says(hidden).answers] == [400, 200]
    http_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # reads as a request without a host, and junk
    assert [status for status, _ in daemon.says(http_2).answers] == [400, 400]


@pytest.mark.parametrize(
    "left", [b"", b"GET /heal", GET, POST + b"Content-Length: 9\r\n\r\n{", POST + CHUNKED + b"9\r\n{"]
)
def test_who_says_half_and_ends_is_hung_up_on(daemon: Daemon, left: bytes) -> None:
    assert daemon.says(left, end=True) == Heard(b"", hung_up=True)
    assert daemon.says(left.replace(b"acknowledge", b"run"), end=True) == Heard(b"", hung_up=True)


def test_after_all_that_it_lives_and_its_log_tells_of_no_crash(daemon: Daemon) -> None:
    status, body = daemon.says(STATUS + b"\r\n").only
    assert (status, body["username"]) == (200, "local")
    crashes = [line for line in daemon.supervised.lines() if "exception" in line]
    assert crashes == []


# --- requests without an end ---


class Impatient(PeerProtocol):
    request_seconds = 0.3


@pytest.fixture
def port(at_home: House) -> Iterator[int]:
    with served(at_home.app, Impatient) as found:
        yield found


HALVES = {
    "line": b"GET /heal",
    "head": GET,
    "body": POST + b"Content-Length: 9\r\n\r\n{",
    "chunk": POST + CHUNKED + b"9\r\n{",
    "body that a route reads itself": RUN + b"Content-Length: 9\r\n\r\n{",
}


@pytest.mark.parametrize("content", HALVES.values(), ids=HALVES)
def test_a_request_without_an_end_is_given_up_and_told_so(port: int, content: bytes) -> None:
    heard = say(port, content)
    status, body = heard.only
    assert (heard.hung_up, status, body["code"]) == (True, 408, "request_timeout")


def test_who_says_nothing_is_told_nothing(port: int) -> None:
    assert say(port, b"") == Heard(b"", hung_up=True)


def test_half_a_request_after_a_whole_one_is_given_up_as_well(port: int) -> None:
    heard = say(port, GET + b"\r\nGET /h")
    assert (heard.hung_up, heard.answers[0][0]) == (True, 200)


def test_an_answer_may_take_as_long_as_it_takes(at_home: House, port: int) -> None:
    headers = "".join(f"{name}: {value}\r\n" for name, value in bearer(at_home.token(Scope.AI_EXECUTE)).items())
    request = b"GET /api/ai/patrol/stream HTTP/1.1\r\n" + HOST + headers.encode() + b"\r\n"
    assert say(port, request, seconds=3 * Impatient.request_seconds).hung_up is False
    at_home.stream.close()


def test_the_daemon_waits_so_long_for_a_request_and_no_longer() -> None:
    assert 10 <= REQUEST_SECONDS <= 60
