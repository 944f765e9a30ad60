"""Work on an executor: one function called on many arguments, with results as they arrive."""

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
    """Yield pairs of a piece's number and the result of `call` on it, in the order of completion.
    Unfinished calls are abandoned when the caller stops.

    A call that fails returns a text, because not all errors can be pickled. Raises the exception
    that `blame` returns for the number and that text, or for an error of the executor. `told` is
    called with the number of an unfinished piece, and the numbers of finished and unfinished ones.
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
        return "a worker process died, perhaps for lack of memory; --jobs 1 needs the least"
    except Exception as error:  # any error of the executor
        return f"{type(error).__name__}: {error}"
