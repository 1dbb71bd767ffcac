"""What one call of a sampler has sent to a solver, kept so that a later call can finish it.

A call that is repeated does the same again: the same problem, options and seed give the same
submissions in the same order. So it is finished by repeating it with its journal: where that has
an id, the answer is fetched, not paid for again; the rest is submitted. Two rules make it so:

- submissions go through `submit_all` with the call's journal, always in the same order;
- what a call depends on besides problem, options and seed, such as embeddings found by a
  heuristic on today's chip, goes through `remember`.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

# How long problems that have just been sent may take to get their ids.
_PATIENCE_SECONDS = 1.0


@dataclass(eq=False)
class Entry:
    """A submission on record.

    Attributes:
        problem_id: the solver's name for it; None while unknown, and for one that failed.
        sampleset: its answer to be, until that has been read.
    """

    problem_id: str | None = None
    sampleset: Any = None

    def learn_id(self, timeout: float = 0.0) -> str | None:
        """The problem's id, waited for a while where it has none yet."""
        if self.problem_id is None and self.sampleset is not None:
            try:
                self.problem_id = self.sampleset.wait_id(timeout=timeout)
            except TimeoutError:
                return None
        return self.problem_id


@dataclass(eq=False)
class Journal:
    """The submissions of one call, in order, and the facts it depends on.

    Attributes:
        earlier: ids from a call that did not finish, in the order of its submissions.
        facts: by name, what was remembered; JSON types.
        entries: the submissions so far.
    """

    earlier: Sequence[str | None] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def remember(self, name: str, find: Callable[[], Any]) -> Any:
        """find(), or what it gave when this call was made first. It gives lists, not tuples."""
        if name not in self.facts:
            self.facts[name] = find()
        return self.facts[name]

    def next_entry(self) -> Entry:
        """The entry of the next submission; with an id if an earlier call has submitted it."""
        number = len(self.entries)
        known = self.earlier[number] if number < len(self.earlier) else None
        self.entries.append(Entry(known))
        return self.entries[-1]

    def problem_ids(self) -> tuple[str | None, ...]:
        """The ids by order of submission; those beyond this call's from the earlier one.

        Problems on their way are given a moment to get theirs.
        """
        until = time.monotonic() + _PATIENCE_SECONDS
        with suppress(KeyboardInterrupt):  # a second Ctrl-C ends the waiting, and loses nothing
            for entry in self.entries:
                entry.learn_id(max(0.0, until - time.monotonic()))
        own = [entry.learn_id() for entry in self.entries]
        return (*own, *self.earlier[len(own) :])
