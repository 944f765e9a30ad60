"""Argument parser: refusals are one line with the value and the remedy, and exit with status 2."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from kgen import suggest

EXIT_REFUSED = 2
#: argparse's message about an option without a value.
_NO_VALUE = re.compile(r"argument (?:-\w/)?(?P<option>-[\w-]+): expected one argument")


class Parser(argparse.ArgumentParser):
    """Parser that suggests names for mistyped ones, and accepts negative numbers as values."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        #: Options of former versions, with their replacement.
        self.former: dict[str, str] = {}
        self._negative_number_matcher = re.compile(r"^-(\d|\.\d|inf|nan)")
        self.register("type", int, _whole)

    def error(self, message: str) -> NoReturn:
        if found := _NO_VALUE.fullmatch(message):
            action = self._option_string_actions[found["option"]]
            message = f"{found['option']} needs a value, {action.metavar or 'one of its choices'}"
        end = " " if message.endswith("?") else "; "
        self.exit(EXIT_REFUSED, f"{self.prog}: {message}{end}see {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message as argparse does, but raise OSError where argparse ignores it.

        Help that was not printed is a failure. An error of stderr is ignored, since it cannot be
        reported.
        """
        stream = file or sys.stderr
        try:
            stream.write(message)
            stream.flush()
        except OSError:
            if stream is not sys.stderr:
                raise

    # argparse's types for these two are overloads of `Namespace` and its subclasses.
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        words = sys.argv[1:] if args is None else list(args)
        # Check unknown options first: a missing option may be this one, mistyped.
        if (option := self._unknown_option(words)) is not None:
            if option in self.former:
                self.error(f"{option} is not an option any more; {self.former[option]}")
            known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
            near = suggest.near(option.lstrip("-"), known)
            self.error(f"{option} is unknown{f'; did you mean --{near[0]}?' if near else ''}")
        parsed, extra = super().parse_known_args(words, namespace)
        # argparse gives a list only the first group of arguments between options.
        for action in self._actions:
            if action.nargs == "*" and not action.option_strings:
                setattr(parsed, action.dest, [*getattr(parsed, action.dest), *extra])
                extra = []
        if extra and self._subparsers is None:
            self.error(f"unexpected argument {extra[0]}")
        return parsed, extra

    def _unknown_option(self, words: Iterable[str]) -> str | None:
        """Return the first word that looks like an option and is unknown, or None."""
        known = self._option_string_actions
        for word in words:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                return None  # what follows are values, or belongs to the command's own parser
            name = word.partition("=")[0]
            is_value = len(word) == 1 or " " in word or self._negative_number_matcher.match(word)
            if not word.startswith("-") or is_value or any(k.startswith(name) for k in known):
                continue
            if word[1] == "-" or word[:2] not in known:  # -oFILE is -o FILE
                return name
        return None

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return an option's value; argparse makes an empty list of `--option=--`."""
        if action.option_strings and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "expected one argument")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value as argparse does, with kgen's message."""
        if action.choices is not None and value not in action.choices:
            shown = str(value) or "''"
            given = f"{action.option_strings[0]} {shown}" if action.option_strings else shown
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(None, suggest.unknown(given, value, known))


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an integer; give one such as 4"
        ) from None
