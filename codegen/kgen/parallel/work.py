"""Work that an executor's workers do: one call on many arguments, each result when it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from typing import Any, TypeVar

T = TypeVar("T")


def results(
    executor: Executor,
    call: Callable[..., T | str],
    pieces: Sequence[tuple[Any, ...]],
    blame: Callable[[int, str], Exception],
    told: Callable[[int, int, int], None] = lambda *_: None,
) -> Iterator[tuple[int, T]]:
    """The results of `call` on each of these pieces, by their numbers, in the order in which they
    are done. What is under way when that ends is given up.

    A call gives a text where it has no result: not all errors can be pickled. Raises what `blame`
    makes of the number and that text, or of whatever goes wrong in an executor. `told` is called
    with the number of a piece that is not done, and how many are and are not.
    """
    futures: dict[Future[T | str], int] = {}
    try:
        for number, piece in enumerate(pieces):
            futures[executor.submit(call, *piece)] = number
        finished = as_completed(list(futures))
        while futures:
            told(next(iter(futures.values())), len(pieces) - len(futures), len(futures))
            future = next(finished)
            number = futures.pop(future)
            found = _result(future)
            if isinstance(found, str):
                raise blame(number, found)
            yield number, found
    finally:
        for future in futures:
            future.cancel()


def _result(future: Future[T | str]) -> T | str:
    try:
        return future.result()
    except BrokenExecutor:
        return "a process died, at this or at another; is there enough memory? --jobs 1 needs least"
    except Exception as error:  # an executor's own, of whatever kind
        return f"{type(error).__name__}: {error}"
