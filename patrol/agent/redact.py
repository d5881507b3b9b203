"""No key in any text: what was heard from a provider is cleaned before it is stored, shown or logged."""

import json
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote, quote_plus

MARK = "[redacted]"
MAX_DETAIL_BYTES = 2_000
SHORTEST_SECRET = 4  # a shorter "key" is a placeholder, and would tear holes into every text

_NAMES = (
    r"(?:x[-_])?(?:goog[-_])?api[-_]?key|access[-_]?(?:key|token)|refresh[-_]?token|auth[-_]?token|id[-_]?token"
    r"|token|key|secret|client[-_]?secret|password|passwd|pwd|credentials?|signature|sig|cookie|set[-_]cookie"
    r"|user[-_]?id|org[-_]?id|organization[-_]?id|session[-_]?id"
)
_SET = r"\\*[\"']?\s*[:=]\s*"  # key=, key: and "key": also where the quotes are escaped
_BARE = r"(?!\[redacted)[^\s\"'<>&;,)\]}\\]+"
_QUOTED = r"\\+\"[^\"]*\"|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"

Rules = Sequence[tuple[re.Pattern[str], str]]


def _rules(names: str) -> Rules:
    """`names`: pattern of the names under which a secret stands."""
    rules = (
        # user:password@ in an address
        (r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/?#\"'<>]*@", rf"\1{MARK}@"),
        # Authorization: Bearer ...
        (rf"(\b(?:proxy-)?authorization{_SET})(?:{_QUOTED})", rf'\1"{MARK}"'),
        (rf"(\b(?:proxy-)?authorization{_SET})(?:(?:bearer|basic|token|digest)\s+)?{_BARE}", rf"\1{MARK}"),
        (r"(\bbearer\s+)[^\s\"'<>,;]{6,}", rf"\1{MARK}"),
        (r"(\bbasic\s+)(?=[a-z+/]*(?-i:[A-Z0-9]))[A-Za-z0-9+/]{8,}={0,2}", rf"\1{MARK}"),
        # {"api_key": "..."}, ?key=...&token=..., x-api-key: ...
        (rf"(\b(?:{names}){_SET})(?:{_QUOTED})", rf'\1"{MARK}"'),
        (rf"(\b(?:{names}){_SET}){_BARE}", rf"\1{MARK}"),
        # keys, signed tokens and account ids that are known by their beginning
        (r"\b(?:sk|pk|rk|gsk|xai|hf|pplx|nvapi)[-_][A-Za-z0-9_\-*.]{8,}", MARK),
        (r"\bAIza[A-Za-z0-9_\-]{10,}", MARK),
        (r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]+)?", MARK),
        (r"\b(?:user_|(?:org|proj|pldd)[-_](?=[A-Za-z]*\d))[A-Za-z0-9]{6,}", MARK),
    )
    return tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement) for pattern, replacement in rules)


_RULES = _rules(_NAMES)
DOCUMENT_RULES = _rules(_NAMES.replace("|key|", '|(?<!")key|'))
"""For JSON of Patrol's own tools, in which the name "key" is that of a finding's kind."""


_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a value under this name is a secret, whatever it looks like."""
    return _SECRET_NAME.fullmatch(name) is not None


def redact(text: str, secrets: Iterable[str] = (), *, max_bytes: int = MAX_DETAIL_BYTES, rules: Rules = _RULES) -> str:
    """The text without keys, tokens, credentials and account ids, at most `max_bytes` of UTF-8 long.

    `secrets`: values that are configured; they go wherever they occur, also as they stand in URLs and in JSON.
    Cleaned before it is cut, so that no half of a key is left at the end.
    """
    cleaned = text
    for form in sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True):
        cleaned = re.sub(re.escape(form), MARK, cleaned, flags=re.IGNORECASE)
    for pattern, replacement in rules:
        cleaned = pattern.sub(replacement, cleaned)
    return bounded(cleaned, max_bytes)


_CUT = b" ..."


def bounded(text: str, max_bytes: int) -> str:
    """The beginning of the text that fits; no character is cut in two."""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return data.decode("utf-8")
    return (data[: max(0, max_bytes - len(_CUT))] + _CUT).decode("utf-8", "ignore")


def _forms(secret: str) -> set[str]:
    """As it is, and as URLs, JSON and Python's own way of showing text write it."""
    known = secret.strip()
    if len(known) < SHORTEST_SECRET:
        return set()
    shown = {
        ascii(known)[1:-1],
        repr(known)[1:-1],
        json.dumps(known)[1:-1],
        json.dumps(known, ensure_ascii=False)[1:-1],
    }
    return {known, quote(known, safe=""), quote(known), quote_plus(known), *shown}
