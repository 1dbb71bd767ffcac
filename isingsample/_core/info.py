"""The facts that come with a result, some of which are computed only if somebody asks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Later:
    """A fact that is dear: how to compute it when it is read."""

    compute: Callable[[], Any]


class Info(Mapping[str, Any]):
    """Facts by name, as a dict has them; each `Later` is computed when it is first read.

    Args:
        facts: by name. Those of another Info that nobody has read yet stay put off.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        known = facts._facts if isinstance(facts, Info) else facts
        self._facts: dict[str, Any] = dict(known)

    def also(self, **facts: Any) -> "Info":
        """These facts and more."""
        return Info({**self._facts, **facts})

    def __getitem__(self, name: str) -> Any:
        fact = self._facts[name]
        if isinstance(fact, Later):
            fact = self._facts[name] = fact.compute()
        return fact

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __contains__(self, name: object) -> bool:
        return name in self._facts

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle and copy take: values in place of the ways to them, which cannot be sent."""
        return Info, (dict(self),)
