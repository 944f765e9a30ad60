"""Completion scripts for bash, zsh and fish, generated from commands and options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import quote

from kgen_runtime.values import frozen


@frozen
class Option:
    """Option with its short and long name.

    `values` are its possible values, if named; `is_list` allows several of them between commas.
    """

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    values: tuple[str, ...] = ()
    is_list: bool = False
    takes_files: bool = False


@frozen
class Command:
    """Command by its words; `arguments` are the possible values of its arguments."""

    path: tuple[str, ...]
    options: tuple[Option, ...]
    children: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    takes_files: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        names = tuple(name for option in self.options for name in option.names)
        return (*(name for name, _ in self.children), *self.arguments, *names)


def bash(commands: Sequence[Command]) -> str:
    values, words = [], []
    for command in commands:
        for option in command.options:
            if not option.takes_value:
                continue
            cases = "|".join(quote(" ".join(("kgen", *command.path, n))) for n in option.names)
            kind = "files" if option.takes_files else "list" if option.is_list else "words"
            given = " ".join(option.values)
            values.append(f"        {cases}) kind={kind} words={quote(given)} ;;")
        name = quote(" ".join(("kgen", *command.path)))
        files = " files=1" if command.takes_files else ""
        words.append(f"        {name}) words={quote(' '.join(command.words))}{files} ;;")
    paths = "|".join(quote(" ".join(("kgen", *c.path))) for c in commands if c.path)
    return _BASH.format(paths=paths, values="\n".join(values), words="\n".join(words))


_BASH = """\
# Completion of kgen for bash: eval "$(kgen completion bash)"
_kgen() {{
    local command=kgen word kind= words= files= start=
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    # bash takes --option=value for three words.
    if [[ $cur == "=" ]]; then
        cur=
    elif [[ $prev == "=" ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$command $word" in
        {paths}) command+=" $word" ;;
        esac
    done
    case "$command $prev" in
{values}
    esac
    if [[ -z $kind ]]; then
        case "$command" in
{words}
        esac
    fi
    if [[ $kind == list && $cur == *,* ]]; then
        start=${{cur%,*}},
        cur=${{cur##*,}}
    fi
    COMPREPLY=($(compgen -W "$words" -P "$start" -- "$cur"))
    if [[ $kind == list ]]; then
        compopt -o nospace 2>/dev/null
    elif [[ $kind == files || ( -n $files && $cur != -* ) ]]; then
        local IFS=$'\\n'
        COMPREPLY+=($(compgen -f -- "$cur"))
        compopt -o filenames 2>/dev/null
    fi
}}
complete -F _kgen kgen
"""


def zsh(commands: Sequence[Command]) -> str:
    functions = [_zsh_function(command) for command in commands]
    return (
        "#compdef kgen\n"
        '# Completion of kgen for zsh: eval "$(kgen completion zsh)", after compinit\n'
        + "".join(functions)
        + 'if [[ $funcstack[1] == _kgen ]]; then _kgen "$@"; else compdef _kgen kgen; fi\n'
    )


def _zsh_function(command: Command) -> str:
    specs = [_zsh_option(option) for option in command.options]
    name = "_".join(("_kgen", *command.path))
    if command.children:
        listed = " ".join(quote(f"{child}:{line}") for child, line in command.children)
        specs += ["'1:command:->command'", "'*::argument:->argument'"]
        body = (
            "    local state line\n"
            f"    local -a commands=({listed})\n"
            f"    _arguments -C {_zsh_join(specs)}\n"
            "    case $state in\n"
            "    command) _describe command commands ;;\n"
            f"    argument) (( $+functions[{name}_$line[1]] )) && {name}_$line[1] ;;\n"
            "    esac\n"
        )
    else:
        if command.arguments:
            specs.append(quote(f"1:argument:({' '.join(command.arguments)})"))
        elif command.takes_files:
            specs.append(quote("*:file:_files"))
        body = f"    _arguments {_zsh_join(specs)}\n"
    return f"{name}() {{\n{body}}}\n"


def _zsh_option(option: Option) -> str:
    text = option.help.translate({ord(c): f"\\{c}" for c in "[]:"})
    value = ""
    if option.takes_files:
        value = ":file:_files"
    elif option.values:
        words = " ".join(option.values)
        value = f":value:_values -s , value {words}" if option.is_list else f":value:({words})"
    elif option.takes_value:
        value = ":value:"
    # Every option may repeat; kgen itself reports those that must not.
    ends = ["=" if value and name.startswith("--") else "" for name in option.names]
    names = zip(option.names, ends, strict=True)
    return " ".join(quote(f"*{name}{end}[{text}]{value}") for name, end in names)


def _zsh_join(specs: Iterable[str]) -> str:
    return " \\\n        ".join(("", *specs)).strip()


def fish(commands: Sequence[Command]) -> str:
    lines = [_FISH]
    for command in commands:
        # Offer sub-commands while none is chosen, and arguments anywhere after their command.
        test = " ".join(("__kgen_at" if command.children else "__kgen_in", *command.path))
        here = f"complete -c kgen -n {_fish(test)}"
        for child, text in command.children:
            lines.append(f"{here} -a {_fish(child)} -d {_fish(text)}")
        if command.arguments:
            lines.append(f"{here} -a {_fish(' '.join(command.arguments))}")
        if command.takes_files:
            lines.append(f"{here} -F")
        lines += [f"{here} {_fish_option(option)}" for option in command.options]
    return "\n".join(lines) + "\n"


_FISH = """\
# Completion of kgen for fish: kgen completion fish | source
function __kgen_at
    set -l words (commandline -opc)
    set -e words[1]
    test "$words" = "$argv"
end
function __kgen_in
    set -l words (commandline -opc)
    set -e words[1]
    string match -q -- "$argv *" "$words "
end
complete -c kgen -f"""


def _fish_option(option: Option) -> str:
    names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
    value = ""
    if option.takes_files:
        value = " -r -F"
    elif option.values and option.is_list:
        listed = f"printf %s\\\\n {' '.join(option.values)}"
        value = f" -x -a {_fish(f'(__fish_complete_list , {_fish(listed)})')}"
    elif option.values:
        value = f" -x -a {_fish(' '.join(option.values))}"
    elif option.takes_value:
        value = " -x"
    return f"{names}{value} -d {_fish(option.help)}"


def _fish(text: str) -> str:
    """Return text in single quotes, within which fish knows only these two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


#: Function that writes the script of each shell.
SCRIPTS: Mapping[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
