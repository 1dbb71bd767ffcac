"""The facts that come with a result, some of which are computed only if somebody asks."""

import copy
import pickle
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

    def known(self) -> dict[str, Any]:
        """The facts that are there without computing any."""
        return {name: f for name, f in self._facts.items() if not isinstance(f, Later)}

    def __repr__(self) -> str:
        shown = (
            f"{name!r}: {'<computed when read>' if isinstance(fact, Later) else repr(fact)}"
            for name, fact in self._facts.items()
        )
        return f"{{{', '.join(shown)}}}"

    def __copy__(self) -> "Info":
        return Info(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Info":
        """A copy of the facts that are known; those put off stay so, in both."""
        return Info({**self._facts, **copy.deepcopy(self.known(), memo)})

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle takes: facts put off stay so where the way to them can be sent, and are
        computed where it cannot."""
        sent = {
            name: fact if isinstance(fact, Later) and _can_be_sent(fact) else self[name]
            for name, fact in self._facts.items()
        }
        return Info, (sent,)


def _can_be_sent(fact: Later) -> bool:
    try:
        pickle.dumps(fact)
    except Exception:  # whatever an object that is not made for it raises
        return False
    return True
