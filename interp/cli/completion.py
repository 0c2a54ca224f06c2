"""`interp completion`: scripts that complete commands, options, their choices and files, made from what the commands take."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from shlex import quote

from interp.cli.arguments import COMMANDS, Parser

FILES = ("FILE", "DIR", "MODULE", "SPEC", "OUT")  # words in a metavar that stand for files


@dataclass(frozen=True)
class Option:
    """An option: how it is written, what it says, and what comes after it ("" for nothing, "file", "value", or choices)."""

    words: tuple[str, ...]
    help: str
    takes: str
    choices: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class Command:
    """What a command takes: options, and the choices of its first words where those are no files."""

    name: str
    help: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]


def main(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    commands = [command(name, said) for name, said in COMMANDS.items()]
    print("\n".join({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands)))
    sys.stdout.flush()
    return 0


def command(name: str, said: str) -> Command:
    """What the declarations of a command say."""
    parser = Parser(prog=f"interp {name}", allow_abbrev=False)
    import_module(f"interp.cli.syntax.{name}").arguments(parser)
    options: dict[tuple[str, ...], Option] = {}
    choices: list[str] = []
    todo = list(parser._actions)
    while todo:
        action = todo.pop(0)
        if isinstance(action, argparse._SubParsersAction):
            choices += action.choices
            todo += [a for inner in action.choices.values() for a in inner._actions]
        elif action.option_strings:
            options.setdefault(tuple(action.option_strings), option(action))
        elif action.choices:
            choices += map(str, action.choices)
    return Command(name, said, tuple(options.values()), tuple(choices))


def option(action: argparse.Action) -> Option:
    """An option as shells need to know it."""
    words, said = tuple(action.option_strings), (action.help or "").replace("%%", "%")
    if action.nargs == 0:
        return Option(words, said, "")
    if action.choices:
        return Option(words, said, "value", tuple(map(str, action.choices)), action.nargs == "?")
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    optional = action.nargs == "?" or action.dest == "json"  # --json alone stands for standard output
    return Option(words, said, "file" if any(f in metavar for f in FILES) else "value", (), optional)


def bash(commands: list[Command]) -> Iterator[str]:
    """A function for bash. There `=` divides words, so that what stands after one is completed as a file."""
    yield "# bash completion for interp; made by: interp completion bash"
    yield "_interp() {"
    yield '    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options= first='
    yield "    COMPREPLY=()"
    yield '    case "$command" in'
    yield f"        {'|'.join(c.name for c in commands)}) ;;"
    yield "        *) command=run ;;"
    yield "    esac"
    yield "    if [ \"$COMP_CWORD\" -eq 1 ]; then"
    yield f'        COMPREPLY=($(compgen -W {quote(" ".join([*(c.name for c in commands), "--help", "--version"]))} -- "$cur"))'
    yield '        case "$cur" in -*) return ;; esac'
    yield "        _interp_models; return"
    yield "    fi"
    yield '    local before=$((COMP_CWORD - 1))'
    yield '    if [ "$cur" = "=" ]; then cur=; before=$COMP_CWORD; fi'
    yield '    if [ "${COMP_WORDS[before]}" = "=" ]; then'
    yield '        case "${COMP_WORDS[before-1]}" in --*) prev=${COMP_WORDS[before-1]}= ;; *) prev== ;; esac'
    yield "    fi"
    yield '    case "$command:$prev" in'
    for c in commands:
        for o in c.options:
            joined = [f"{w}=" for w in o.words if w.startswith("--")]
            pattern = "|".join(f"{c.name}:{w}" for w in (joined if o.optional else (*o.words, *joined)))
            if o.choices:
                yield f'        {pattern}) COMPREPLY=($(compgen -W {quote(" ".join(o.choices))} -- "$cur")); return ;;'
            elif o.takes == "file":
                yield f"        {pattern}) _interp_files; return ;;"
            elif o.takes:
                yield f"        {pattern}) return ;;"
    yield "        *:=) _interp_files; return ;;"
    yield "    esac"
    yield '    case "$command" in'
    for c in commands:
        words = quote(" ".join(w for o in c.options for w in o.words))
        yield f"        {c.name}) options={words} first={quote(' '.join(c.choices))} ;;"
    yield "    esac"
    yield '    case "$cur" in'
    yield '        -*) COMPREPLY=($(compgen -W "$options" -- "$cur")); return ;;'
    yield "    esac"
    yield '    if [ -n "$first" ] && [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY=($(compgen -W "$first" -- "$cur")); return; fi'
    yield "    _interp_models"
    yield "}"
    yield "_interp_files() {"
    yield "    local IFS=$'\\n'"
    yield '    compopt -o filenames 2> /dev/null; COMPREPLY+=($(compgen -f -- "$cur"))'
    yield "}"
    yield "_interp_models() {"
    yield "    local IFS=$'\\n'"
    yield "    compopt -o filenames 2> /dev/null"
    yield """    COMPREPLY+=($(compgen -f -X '!*.onnx' -- "$cur") $(compgen -d -- "$cur"))"""
    yield "}"
    yield "complete -F _interp interp"


def zsh(commands: list[Command]) -> Iterator[str]:
    """A function for each command, and one that picks among them."""
    yield "#compdef interp"
    yield "# made by: interp completion zsh"
    for c in commands:
        yield f"_interp_{c.name}() {{"
        yield "    _arguments -s -S \\"
        for o in c.options:
            yield f"        {zsh_option(o)} \\"
        if c.choices:
            yield f"        '1:word:({' '.join(c.choices)})' \\"
        yield """        '*:model:_files -g "*.onnx(-.)"'"""
        yield "}"
    yield "_interp() {"
    yield "    local -a commands=("
    for c in commands:
        yield f"        {quote(c.name + ':' + c.help)}"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield """        _describe command commands; _files -g '*.onnx(-.)'; return"""
    yield "    fi"
    yield "    local command=$words[2]"
    yield "    if (( $+functions[_interp_$command] )); then"
    yield "        shift words; (( CURRENT-- ))"
    yield "    else"
    yield "        command=run"
    yield "    fi"
    yield "    _interp_$command"
    yield "}"
    yield 'if [ "$funcstack[1]" = _interp ]; then _interp "$@"; else compdef _interp interp; fi'


def zsh_option(o: Option) -> str:
    """An option as _arguments reads it."""
    said = "".join(f"\\{c}" if c in "[]:\\" else c for c in o.help)
    after = ""
    if o.choices:
        after = f"{':' * (1 + o.optional)}choice:({' '.join(o.choices)})"
    elif o.takes:
        after = f"{':' * (1 + o.optional)}{o.takes}:{'_files' if o.takes == 'file' else ' '}"
    each = [f"{w}{'=' if o.takes and w.startswith('--') else '+' if o.takes else ''}" for w in o.words]
    return " ".join(quote(f"*{word}[{said}]{after}") for word in each)


def fish(commands: list[Command]) -> Iterator[str]:
    """A line a command and an option."""
    names = " ".join(c.name for c in commands)
    yield "# fish completion for interp; made by: interp completion fish"
    yield "function __interp_in"
    yield "    set -l words (commandline -opc)"
    yield "    set -l command run"
    yield f"    if set -q words[2]; and contains -- $words[2] {names}; set command $words[2]; end"
    yield '    test "$command" = $argv[1]; and set -q words[2]'
    yield "end"
    yield "function __interp_first"
    yield "    test (count (commandline -opc)) -eq 1"
    yield "end"
    yield "complete -c interp -f"
    yield "complete -c interp -n __interp_first -a '(__fish_complete_suffix .onnx)'"
    for c in commands:
        here = f"complete -c interp -n '__interp_in {c.name}'"
        yield f"complete -c interp -n __interp_first -a {c.name} -d {quote(c.help)}"
        yield f"{here} -a {quote(' '.join(c.choices) if c.choices else '(__fish_complete_suffix .onnx)')}"
        for o in c.options:
            short = "".join(f" -s {w[1:]}" for w in o.words if len(w) == 2)
            long = "".join(f" -l {w[2:]}" for w in o.words if w.startswith("--"))
            values = f" -xa {quote(' '.join(o.choices))}" if o.choices else " -rF" if o.takes == "file" and not o.optional else \
                " -x" if o.takes and not o.optional else ""
            yield f"{here}{short}{long}{values} -d {quote(o.help)}"
