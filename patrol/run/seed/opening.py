"""The text that opens the first pass of a model, at any length."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from patrol.run.seed.model import Seed
from patrol.run.seed.window import seed_tokens, tokens_after_overflow


@dataclass(slots=True, kw_only=True)
class SeedOpening:
    """A seed for a model with this window (None: nobody knows). It remembers how long it was told last."""

    seed: Seed
    window: int | None
    _tried: int | None = field(default=None, init=False)

    def text(self, tokens: int | None = None) -> str:
        """The seed, fitted to so many tokens; None: to the window of the model."""
        self._tried = seed_tokens(self.window) if tokens is None else tokens
        return self.seed.fitted(self._tried)

    def shorter(self, window: int | None) -> Sequence[int]:
        """Allowances to try after the last text did not fit, none of which gives a text that was refused already.

        `window`: of the model, where its provider named it.
        """
        tried = seed_tokens(self.window) if self._tried is None else self._tried
        last = self.seed.fitted(tried)
        found: list[int] = []
        for tokens in tokens_after_overflow(tried, window):
            text = self.seed.fitted(tokens)
            if text != last:
                found.append(tokens)
            last = text
        return tuple(found)
