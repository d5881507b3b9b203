"""Text of whole characters: some servers tell half of one (a lone surrogate), which no file and no request can hold."""


def whole_characters(text: str) -> str:
    """The text with halves that belong together joined, and each that stands alone replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class WholeText:
    """Takes text in pieces and gives it on in whole characters: the first half of one waits for the second."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """What of this piece, and of what waited, can be given on."""
        text, self._half = self._half + piece, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole_characters(text)

    def finish(self) -> str:
        """What still waited."""
        text, self._half = self._half, ""
        return whole_characters(text)
