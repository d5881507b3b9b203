"""How many tokens a seed may have in the window of a model, and what is tried when that was too much. Pure."""

SYSTEM_TOKENS = 4_000
TOOL_TOKENS = 8_000
OUTPUT_TOKENS = 8_000
CONVERSATION_TOKENS = 16_000
SMALL_SEED_TOKENS = 16_000
UNKNOWN_WINDOW = 128_000
"""Window of a model that nobody knows the window of."""
LEAST_RETRY_TOKENS = 1_000
_BLIND_RETRIES = (16_000, 8_000, 4_000)


def seed_tokens(window: int | None) -> int:
    """The window less what the system prompt, the tools, the answer and the conversation need.

    In a small window at least half of it, up to 16,000 tokens: what the seed leaves out, the model cannot ask about.
    """
    whole = UNKNOWN_WINDOW if window is None else window
    kept = SYSTEM_TOKENS + TOOL_TOKENS + OUTPUT_TOKENS + CONVERSATION_TOKENS
    return max(whole - kept, min(SMALL_SEED_TOKENS, whole // 2))


def tokens_after_overflow(tried: int, window: int | None) -> tuple[int, ...]:
    """What to try after a prompt with a seed of so many tokens was refused, each smaller than the one before.

    `window`: what the provider said that its window is; None if it said nothing.
    """
    if window is None:
        wanted: tuple[int, ...] = _BLIND_RETRIES
    else:
        whole = seed_tokens(window)
        wanted = (whole, max(LEAST_RETRY_TOKENS, whole // 2), max(LEAST_RETRY_TOKENS, whole // 4))
    found: list[int] = []
    for tokens in wanted:
        if tokens < min((tried, *found)):
            found.append(tokens)
    return tuple(found)
