"""Which operations a path has: one router for the JSON interfaces and the pages."""

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class PathMatch(NamedTuple, Generic[T]):
    """The operations of a path by method, and the values of its parameters."""

    methods: Mapping[str, T]
    parameters: dict[str, str]

    @property
    def allowed(self) -> bytes:
        """For the Allow header of a reply to any other method."""
        return ", ".join(sorted(self.methods)).encode()


class _Node(Generic[T]):
    """What may follow some segments of a path."""

    __slots__ = ("literals", "methods", "parameter")

    def __init__(self) -> None:
        self.literals: dict[str, _Node[T]] = {}
        self.parameter: tuple[str, _Node[T]] | None = None
        self.methods: dict[str, T] = {}


class Router(Generic[T]):
    """Finds operations by the segments of a path; a fixed segment comes before `{name}`.

    `{name}` is one segment that is not empty. A slash too many or too few is another path.
    """

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, path: str, method: str, operation: T, *, head: bool = False) -> None:
        """`head`: HEAD is served like this method."""
        node = self._root
        for segment in path.split("/")[1:]:
            if not segment.startswith("{"):
                node = node.literals.setdefault(segment, _Node())
                continue
            name = segment[1:-1]
            if node.parameter is None:
                node.parameter = (name, _Node())
            known, node = node.parameter
            if known != name:
                raise ValueError(f"{path}: this place is called {known} elsewhere")
        for each in (method, "HEAD") if head else (method,):
            if each in node.methods:
                raise ValueError(f"{each} {path} is there twice")
            node.methods[each] = operation

    def find(self, path: str) -> PathMatch[T] | None:
        parameters: dict[str, str] = {}
        node = _walk(self._root, path.split("/"), 1, parameters)
        return None if node is None else PathMatch(node.methods, parameters)


def _walk(
    node: _Node[T], segments: list[str], at: int, parameters: dict[str, str]
) -> _Node[T] | None:
    if at == len(segments):
        return node if node.methods else None
    segment = segments[at]
    following = node.literals.get(segment)
    if following is not None:
        found = _walk(following, segments, at + 1, parameters)
        if found is not None:
            return found
    if node.parameter is None or not segment:
        return None
    name, following = node.parameter
    found = _walk(following, segments, at + 1, parameters)
    if found is not None:
        parameters[name] = segment
    return found
