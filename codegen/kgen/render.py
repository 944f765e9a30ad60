"""Rendering templates to text; the only module that imports jinja2 or knows the template folder."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen import settings
from kgen.cache.generations import Generation
from kgen.identities import without_identities
from kgen.targets.base import Plan, Source

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

#: Start of a comment, by the extension of a source.
_COMMENT = {"ptx": "//", "ll": ";", "spvasm": ";"}
#: Blank lines that a template leaves where it omits something.
_BLANK_LINES = re.compile(r"\n{3,}")


@cache
def template_root() -> Path:
    """Return the packaged templates beside this file, or else the checkout's."""
    packaged = Path(__file__).with_name("templates")
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "templates"


@cache
def _environment() -> Environment:
    import jinja2

    # Jinja's default delimiters clash with PTX's `{%r1, %r2}` and LLVM's `%{`.
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_root()),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="${",
        variable_end_string="}",
        comment_start_string="<#",
        comment_end_string="#>",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_without_last_newline,
        extensions=["jinja2.ext.do"],
        bytecode_cache=_bytecode_cache(),
        auto_reload=False,
    )


def _bytecode_cache() -> BytecodeCache | None:
    """Return a cache of compiled templates; Jinja recompiles a template whose source changed."""
    import jinja2

    folder = settings.cache_folder()
    if folder is None:
        return None
    files = Generation(folder / "templates", _compiled_key(jinja2.__version__))

    class Cache(jinja2.BytecodeCache):
        def get_cache_key(self, name: str, filename: str | None = None) -> str:
            return name.replace("/", ".")

        def load_bytecode(self, bucket: Bucket) -> None:
            if (data := files.read(bucket.key)) is not None:
                bucket.bytecode_from_string(data)

        def dump_bytecode(self, bucket: Bucket) -> None:
            files.write(bucket.key, bucket.bytecode_to_string())

    return Cache()


def _compiled_key(jinja_version: str) -> str:
    """Return a digest of the templates, their path, this file, and the jinja and Python used."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    words = (template_digest(), str(template_root()), jinja_version)
    digest.update("\0".join(words).encode() + importlib.util.MAGIC_NUMBER)
    return digest.hexdigest()[:16]


def _without_last_newline(value: Any) -> Any:
    """Return text without its last newline, because the line that calls a macro ends with one."""
    return value.removesuffix("\n") if isinstance(value, str) else value


def text(template: str, values: Mapping[str, object]) -> str:
    """Render a template that is not a kernel's, with these values."""
    return _environment().get_template(template).render(values)


def render(plan: Plan, extension: str) -> Source:
    """Render a kernel: the plan's header as a comment, then its template.

    Identity arithmetic and repeated blank lines are removed.
    """
    template = _environment().get_template(plan.template)
    text = template.render(plan=plan, spec=plan.spec, target=plan.target, schedule=plan.schedule)
    text = without_identities(_BLANK_LINES.sub("\n\n", text.lstrip("\n")), extension)
    header = "".join(f"{_COMMENT[extension]} {line}".rstrip() + "\n" for line in plan.header)
    text = f"{header}\n{text}"
    return Source(text=text, extension=extension, entry_point=plan.entry_point)


@cache
def template_digest() -> str:
    """Return the SHA-256 of every template's path and bytes, for the bundle's provenance."""
    digest = hashlib.sha256()
    for path in sorted(template_root().rglob("*.j2")):
        digest.update(path.relative_to(template_root()).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
