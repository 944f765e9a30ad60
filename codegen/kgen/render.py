"""Templates to text. The only importer of jinja2, and the only code that knows where they are."""

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

#: What begins a comment, by the extension of a source.
_COMMENT = {"ptx": "//", "ll": ";", "spvasm": ";"}
#: What a template leaves behind where it leaves something out.
_BLANK_LINES = re.compile(r"\n{3,}")


@cache
def template_root() -> Path:
    """The packaged templates if there are any beside this file, else the checkout's."""
    packaged = Path(__file__).with_name("templates")
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "templates"


@cache
def _environment() -> Environment:
    import jinja2

    # Jinja's own delimiters clash with PTX's `{%r1, %r2}` and LLVM's `%{`.
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
    """Cache of compiled templates; Jinja recompiles a template whose source changed."""
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
    """Digest of the templates, their path, the options above, and the jinja and Python versions."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    words = (template_digest(), str(template_root()), jinja_version)
    digest.update("\0".join(words).encode() + importlib.util.MAGIC_NUMBER)
    return digest.hexdigest()[:16]


def _without_last_newline(value: Any) -> Any:
    """A macro that emits whole lines is called on a line of its own, which ends with one itself."""
    return value.removesuffix("\n") if isinstance(value, str) else value


def text(template: str, values: Mapping[str, object]) -> str:
    """A template that is no kernel's, over these values."""
    return _environment().get_template(template).render(values)


def render(plan: Plan, extension: str) -> Source:
    """The kernel's text: the plan's header as a comment, then its entry template over the plan,
    without two blank lines together or arithmetic that changes nothing."""
    template = _environment().get_template(plan.template)
    text = template.render(plan=plan, spec=plan.spec, target=plan.target, schedule=plan.schedule)
    text = without_identities(_BLANK_LINES.sub("\n\n", text.lstrip("\n")), extension)
    header = "".join(f"{_COMMENT[extension]} {line}".rstrip() + "\n" for line in plan.header)
    text = f"{header}\n{text}"
    return Source(text=text, extension=extension, entry_point=plan.entry_point)


@cache
def template_digest() -> str:
    """SHA-256 over every template's path and bytes, for the bundle's provenance."""
    digest = hashlib.sha256()
    for path in sorted(template_root().rglob("*.j2")):
        digest.update(path.relative_to(template_root()).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
