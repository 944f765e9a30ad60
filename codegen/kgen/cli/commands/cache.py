"""`kgen cache`: show, limit or clear the cache of built kernels."""

from __future__ import annotations

import argparse

from kgen import settings
from kgen.cache import kernel_cache
from kgen.cache.kernel_cache import CacheUsage, KernelCache
from kgen.cli.output import print_json
from kgen.errors import SpecError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("show", "clear", "limit"), default="show", metavar="ACTION",
        help="show (the default); clear: remove all kernels; limit SIZE: set the largest size",
    )  # fmt: skip
    parser.add_argument(
        "size", nargs="?", metavar="SIZE", help="largest size of the cache, such as 500MiB or 2GiB"
    )


def run(args: argparse.Namespace) -> int:
    cache = kernel_cache.opened()
    if cache is None:
        if not settings.keeps_kernels():
            raise SpecError(f"{settings.CACHE}=0 turns the cache off; unset it")
        raise SpecError(
            f"there is no cache: this user has no home folder; set {settings.CACHE_DIR} to a folder"
        )
    if (args.size is not None) != (args.action == "limit"):
        wrong = "limit needs a size"
        if args.size is not None:
            wrong = f"{args.action} takes no size ({args.size})"
        raise SpecError(f"{wrong}; to set the limit, write kgen cache limit 2GiB")
    if args.action == "limit":
        cache.set_limit(kernel_cache.size(args.size))
    removed = cache.clear() if args.action == "clear" else None
    if args.json:
        print_json(_json(cache, removed))
    else:
        _print(cache.usage(), removed)
    return 0


def _json(cache: KernelCache, removed: CacheUsage | None) -> dict[str, object]:
    found = cache.usage()
    shown: dict[str, object] = {
        "path": str(found.path),
        "kernels": found.entries,
        "bytes": found.nbytes,
        "limit": found.limit,
    }
    if removed is not None:
        shown["removed"] = {"kernels": removed.entries, "bytes": removed.nbytes}
    return shown


def _print(found: CacheUsage, removed: CacheUsage | None) -> None:
    if removed is not None:
        print(f"removed {removed.entries} kernels of {removed.nbytes} bytes")
    part = found.nbytes / found.limit if found.limit else 0.0
    print(f"path     {found.path}")
    print(f"kernels  {found.entries}")
    print(f"bytes    {found.nbytes} of {found.limit} ({part:.0%})")
