"""Which routes a path belongs to, whatever the method: what a refusal of a method has to tell. Pure."""

from collections.abc import Sequence

from fastapi import APIRouter
from fastapi.routing import APIRoute


class Paths:
    """The paths of some routers. One that is written out belongs to nobody who has a parameter in its place."""

    def __init__(self, routers: Sequence[APIRouter]) -> None:
        self._routes = [each for router in routers for each in router.routes if isinstance(each, APIRoute)]
        self._written_out = frozenset(each.path for each in self._routes if "{" not in each.path)

    def is_of_another(self, path: str, route_path: str) -> bool:
        """Whether a path is another one than this route's, though the route's parameter would fit it."""
        return path in self._written_out and path != route_path

    def methods(self, path: str) -> list[str]:
        """All methods that a path takes; none for a path that is not known here."""
        fitting = [
            each
            for each in self._routes
            if each.path_regex.match(path) is not None and not self.is_of_another(path, each.path)
        ]
        return sorted({method for each in fitting for method in each.methods or ()})
