"""Events as they go over the wire (server-sent events), and the place from which somebody wants to go on. Pure."""

import msgspec

from patrol.api.live.events import Event
from patrol.api.live.hub import LastHeard

CONNECTED = b": connected\nretry: 3000\n\n"
"""The first bytes: a proxy passes the head of an answer on with them, and a browser knows when to come back."""
HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no", "Connection": "close"}
"""No proxy is to collect or compress what is to arrive now. One that does it all the same gives on what it holds at the
end of the connection: with the stream it is over.
"""

_LONGEST_SEQ = 12
_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """One event. Its id names the run as well: a number alone could be of any run."""
    data = _encoder.encode(event)
    return b"id: %s:%d\ndata: %s\n\n" % (event["run_id"].encode(), event["seq"], data)


def ping(seconds: float) -> bytes:
    """A sign of life."""
    return b": ping %d\n\n" % seconds


def parse_last(last_event_id: str, run_id: str) -> LastHeard | None:
    """The last event that somebody has heard: `<run>:<seq>`, or a number of the run asked for. None: none was.

    What cannot be read is no event that is known: the answer to it is a snapshot, not a refusal, since browsers send
    it by themselves.
    """
    text = last_event_id.strip()
    if not text:
        return None
    named, _, number = text.rpartition(":")
    if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_SEQ):
        return LastHeard("", 0)
    return LastHeard(named or run_id, int(number))
