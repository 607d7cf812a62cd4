"""Convert the final state of the shell that ran a command to facts, such as its directory, variables and options.

The facts omit bash's internal variables (clocks, counters, random numbers, the call stack, the words of the last
command, the previous directory), because these do not show the effect of a command. The facts also omit the default
variables of `read`, `getopts` and `[[ =~ ]]`. PWD, SHELLOPTS and BASHOPTS are omitted too, because the directory and
the options are separate facts.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Final

from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facet, Facts
from evaluator.judges.reasons import shown
from evaluator.records import Evidence, Observation, Step, Task


class ShellFacet(Facet):
    """The compared properties of a shell, in the order in which differences are reported."""

    ALIVE = 0
    DIRECTORY = 1
    UMASK = 2
    VARIABLE = 3
    FUNCTION = 4
    ALIAS = 5
    OPTION = 6
    TRAP = 7


_MANAGED_BY_BASH: Final = re.compile(
    r"_|PIPESTATUS|BASH(OPTS|PID)?|BASH_.*|SHELLOPTS|LINENO|RANDOM|SRANDOM|SECONDS|EPOCH(SECONDS|REALTIME)"
    r"|PPID|SHLVL|PWD|OLDPWD|FUNCNAME|DIRSTACK|GROUPS|HISTCMD|COMP_.*|OPT(ARG|ERR|IND)|REPLY"
)
_HELPER: Final = re.compile(rb"declare -[-aAi]+ ")
"""The beginning of `declare -p` for a variable that only has attributes of a helper variable."""

_READ_BY_BASH: Final = re.compile(
    r"CDPATH|ENV|EXECIGNORE|FIGNORE|GLOBIGNORE|GLOBSORT|IGNOREEOF|INPUTRC|POSIXLY_CORRECT|PROMPT_COMMAND|PS0"
    r"|PS1|PS3|TIMEFORMAT|TMOUT|TMPDIR|HISTFILE|HISTSIZE|HISTCONTROL|HISTFILESIZE|HISTIGNORE|HISTTIMEFORMAT"
    r"|HOSTFILE|MAILCHECK|MAIL|MAILPATH|LC_ALL|LC_COLLATE|LC_CTYPE|LC_MESSAGES|LC_NUMERIC|LC_TIME|FUNCNEST"
    r"|BASH_ENV"
)
"""Variables that change the behaviour of bash even if they are not exported."""

_OPTION: Final = re.compile(r"(?:set|shopt) (?P<state>[-+]o|-[su]) (?P<name>\w+)")


def shell_facts(evidence: Evidence, task: Task) -> Facts:
    """Return the facts about the final shell state. If the shell has ended, the only fact is that it is not alive."""
    shell = evidence.shell
    if shell is None:
        return {}
    facts: dict[EffectKey, Hashable] = {EffectKey(b"", ShellFacet.ALIVE): shell.alive}
    if not shell.alive:
        return facts
    facts[EffectKey(b"", ShellFacet.DIRECTORY)] = shell.cwd
    facts[EffectKey(b"", ShellFacet.UMASK)] = shell.umask.lstrip("0")
    for name, value in shell.variables.items():
        if not is_managed_by_bash(name):
            facts[EffectKey(name.encode(), ShellFacet.VARIABLE)] = value
    facts.update({EffectKey(name.encode(), ShellFacet.FUNCTION): body for name, body in shell.functions.items()})
    facts.update({EffectKey(name.encode(), ShellFacet.ALIAS): text for name, text in shell.aliases.items()})
    facts.update(map(_option_fact, shell.options))
    facts.update({EffectKey(trap, ShellFacet.TRAP): True for trap in shell.traps})
    return facts


def _option_fact(line: str) -> tuple[EffectKey, Hashable]:
    """Parse a line of `set +o` or `shopt -p` into an option and its state. A line with only a name means "on"."""
    match = _OPTION.fullmatch(line)
    name, state = (match["name"], match["state"] in ("-o", "-s")) if match else (line, True)
    return EffectKey(name.encode(), ShellFacet.OPTION), "on" if state else "off"


def is_managed_by_bash(variable: str) -> bool:
    """Return whether bash itself manages this variable. The judge does not compare such a variable.

    No task can ask to set it. Bash overwrites it, refuses the change, or fills it with a value that the judge compares
    elsewhere. So a wrong command always differs in something else that the judge compares.
    """
    return _MANAGED_BY_BASH.fullmatch(variable) is not None


def is_helper_variable(difference: Difference) -> bool:
    """Return whether this difference between shell states consists only of a helper variable.

    No reference sets a helper variable, and no other program can read it. The judge ignores helper variables, because
    `d=$(...); cd "$d"` has the same effect as `cd "$(...)"`. A command that sets the wrong variable still fails,
    because the right variable is missing. A variable is not a helper if it is exported or read-only, if bash reads it,
    or if the initial shell sets it.
    """
    value = difference.actual
    return (
        difference.key.facet is ShellFacet.VARIABLE
        and not difference.expected
        and isinstance(value, bytes)
        and _HELPER.match(value) is not None
        and _READ_BY_BASH.fullmatch(difference.key.subject.decode(errors="replace")) is None
    )


def name_fact(key: EffectKey) -> str:
    """Return the name of a fact about the shell for a message, such as `variable 'x'` or `shell's umask`."""
    facet = ShellFacet(key.facet).name.lower()
    return f"{facet} {shown(key.subject)}" if key.subject else f"shell's {facet}"


def describe(difference: Difference) -> str:
    """Describe, as a part of a sentence, one difference between the final shell states of command and references."""
    key, present, actual, expected = difference
    if key.facet is ShellFacet.ALIVE:
        return (
            "ends the shell, so its state is unknown" if not actual else "does not end the shell, as the references do"
        )
    if not expected:
        return f"leaves {name_fact(key)} set, which no reference does"
    if not present:
        return f"leaves {name_fact(key)} not set, which every reference sets"
    wanted_values = " or ".join(_value(value) for value in expected)
    return f"leaves {name_fact(key)} at {_value(actual)}, expected {wanted_values}"


def _value(value: object) -> str:
    return shown(value) if isinstance(value, bytes | str) else repr(value)


SHELL: Final = Dimension(Step.SHELL, Observation.SHELL, shell_facts, describe, name_fact)
"""The shell's state, for tasks that observe it."""
