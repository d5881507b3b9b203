"""Evidence: outputs and inputs as pages under their hash, and what the detection of each run read and said.

A page is stored once however often it comes, and before anything of the run is concluded. Texts of signals and
looks are canonical JSON lines, so that two detections are equal exactly when their hashes are.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from importlib import metadata
from itertools import islice
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, select

from findings.model import DEFAULT_ORG
from patrol.database import Database
from patrol.database.inserts import insert_unless_there
from patrol.run.limits import LimitsInForce
from patrol.run.record_model import DetectionRecord, ToolCallRecord
from patrol.run.rows import DETECTION_COLUMNS, detection_of, detection_row, mended
from patrol.run.tables import DETECTIONS, EVIDENCE_PAGES
from signals.model import Detection, Origin, ToolCall

_COMPRESSION = 1  # a page compresses to a tenth already at the fastest level
_LOOKS_AT_ONCE = 10_000  # a large estate has five for each resource: all of them as rows would take more than it does
_DETECTION = [DETECTIONS.c[name] for name in DETECTION_COLUMNS]
_OF_HASH = (EVIDENCE_PAGES.c.org_id == bindparam("org_id"), EVIDENCE_PAGES.c.sha256 == bindparam("sha256"))
_FIND_PAGE = select(EVIDENCE_PAGES.c.sha256).where(*_OF_HASH)
_READ_PAGE = select(EVIDENCE_PAGES.c.data).where(*_OF_HASH)
_lines = msgspec.json.Encoder(order="sorted").encode_lines


class EvidenceExpiredError(LookupError):
    """A page is not kept any more. `sha256`: which one."""

    def __init__(self, sha256: str) -> None:
        super().__init__(sha256)
        self.sha256 = sha256


class EvidenceDamagedError(ValueError):
    """A page does not hold what its hash says. `sha256`: which one."""

    def __init__(self, sha256: str) -> None:
        super().__init__(sha256)
        self.sha256 = sha256


class PackedPage(NamedTuple):
    """A page as it is stored: its name, and its content compressed."""

    sha256: str
    data: bytes


class Pages:
    """The pages of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str = DEFAULT_ORG) -> None:
        self._connection = connection
        self._org_id = org_id

    def keep(self, content: bytes, at: datetime, *, sha256: str = "") -> str:
        """Stores a page that is not known yet, and returns its hash (`sha256`, where that is known already).

        To be called in the transaction that writes what cites it: a page that nothing cites may be deleted.
        """
        sha256 = sha256 or page_hash(content)
        if not self._has(sha256):
            self.keep_packed(PackedPage(sha256, zlib.compress(content, _COMPRESSION)), at)
        return sha256

    def keep_packed(self, page: PackedPage, at: datetime) -> None:
        """Stores a page that is packed already, likewise."""
        if not self._has(page.sha256):
            row = {"org_id": self._org_id, "sha256": page.sha256, "stored_at": at, "data": page.data}
            self._connection.execute(insert_unless_there(self._connection.dialect.name, EVIDENCE_PAGES), row)

    def _has(self, sha256: str) -> bool:
        values = {"org_id": self._org_id, "sha256": sha256}
        return self._connection.execute(_FIND_PAGE, values).first() is not None

    def find(self, sha256: str) -> bytes | None:
        """The content of a page; None if it is not kept (any more)."""
        data = self._connection.execute(_READ_PAGE, {"org_id": self._org_id, "sha256": sha256}).scalar_one_or_none()
        return zlib.decompress(data) if data is not None else None

    def get(self, sha256: str) -> bytes:
        """The content of a page, checked against its hash. Raises EvidenceExpiredError, EvidenceDamagedError."""
        try:
            content = self.find(sha256)
        except zlib.error as error:
            raise EvidenceDamagedError(sha256) from error
        if content is None:
            raise EvidenceExpiredError(sha256)
        if page_hash(content) != sha256:
            raise EvidenceDamagedError(sha256)
        return content


class DetectionStore:
    """What each run's detection read and said. Every method is a transaction of its own."""

    def __init__(self, database: Database, org_id: str = DEFAULT_ORG) -> None:
        self._database = database
        self._org_id = org_id

    def begin(self, run_id: str, now: datetime, limits: LimitsInForce) -> DetectionRecord:
        """Records by what a run will judge, before it reads anything.

        Raises IntegrityError if the run does not exist, or has begun to detect already.
        """
        page = limits.text.encode("utf-8", "surrogatepass") if limits.text is not None else None
        detection = DetectionRecord(
            run_id=run_id,
            version=metadata.version("patrold"),
            now=now,
            options=msgspec.json.encode(limits.options).decode(),
            alert_settings_sha256=page_hash(page) if page is not None else "",
        )

        def work(connection: Connection) -> None:
            connection.execute(DETECTIONS.insert(), {"org_id": self._org_id, **detection_row(detection)})
            if page is not None:
                Pages(connection, self._org_id).keep(page, now)

        self._database.transact(work)
        return detection

    def conclude(self, run_id: str, detection: Detection) -> None:
        """Records what the detection said. Does nothing for a run that was recorded without `begin`."""
        signals, looks = packed([signal_lines(detection)]), packed(look_lines(detection))
        hashes = {"signals_sha256": signals.sha256, "looks_sha256": looks.sha256}
        this = (DETECTIONS.c.org_id == self._org_id, DETECTIONS.c.run_id == run_id)

        def work(connection: Connection) -> None:
            at = connection.execute(select(DETECTIONS.c.now).where(*this)).scalar_one_or_none()
            if at is not None:
                connection.execute(DETECTIONS.update().where(*this).values(hashes))
                pages = Pages(connection, self._org_id)
                pages.keep_packed(signals, at)
                pages.keep_packed(looks, at)

        self._database.transact(work)

    def find(self, run_id: str) -> DetectionRecord | None:
        """The detection of a run; None for a run that never began or was recorded by an older Patrol."""
        statement = select(*_DETECTION).where(DETECTIONS.c.org_id == self._org_id, DETECTIONS.c.run_id == run_id)
        with self._database.read() as connection:
            row = connection.execute(statement).first()
        return detection_of(row) if row is not None else None


def page_hash(content: bytes) -> str:
    """The name of a page: SHA-256 in hex over what it holds, not over how it is compressed."""
    return hashlib.sha256(content).hexdigest()


def signal_lines(detection: Detection) -> bytes:
    """The signals of a detection, one JSON object a line, keys sorted."""
    return _lines(detection.signals)


def look_lines(detection: Detection) -> Iterator[bytes]:
    """The looks of a detection in some parts, one JSON array `[kind, resource id, subject, look, reason]` a line."""
    looks = iter(detection.examined)
    while chunk := list(islice(looks, _LOOKS_AT_ONCE)):
        yield _lines(chunk)


def packed(parts: Iterable[bytes]) -> PackedPage:
    """A page that is made of parts, without having all of it at once."""
    digest, packer = hashlib.sha256(), zlib.compressobj(_COMPRESSION)
    data = []
    for part in parts:
        digest.update(part)
        data.append(packer.compress(part))
    return PackedPage(digest.hexdigest(), b"".join((*data, packer.flush())))


def output_page(output: object) -> bytes:
    """The page of a tool call's output: a struct or text as JSON, bytes as they are.

    Where a foreign name holds half a character, which no text can, it is mended: one bad name must not end a run.
    """
    if isinstance(output, bytes):
        return output
    try:
        return msgspec.json.encode(output)
    except UnicodeEncodeError:
        return msgspec.json.encode(mended(msgspec.to_builtins(output, builtin_types=())))


def recorded_call(call: ToolCallRecord, page: bytes) -> ToolCall:
    """A call as the detectors are given it, in the run as in a replay: its output is the recorded text.

    A struct would not do. What a source left in one (81 where a field holds 81.0, not-a-number, half a character)
    its text does not hold, and the replay would be another.
    """
    output: object = page
    if page[:1] == b'"':
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # then it is text that only begins like a JSON string
            output = _text_decoder.decode(page)
    return ToolCall(
        id=call.id,
        tool_name=call.tool_name,
        input=msgspec.json.decode(call.input, type=dict[str, object] | str | None),
        output=output,
        success=call.success,
        origin=Origin(call.origin),
    )


_text_decoder = msgspec.json.Decoder(str)
