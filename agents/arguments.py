"""What may follow the ":" in an agent's name."""

from castle_env.errors import AgentError


def positive_integer(agent: str, arguments: str, most: int, others: str = "") -> int:
    """The one argument as an integer from 1 to `most`, written in plain digits.

    Raises `AgentError` for anything else, which names also `others` that are allowed.
    """
    plain = arguments.isascii() and arguments.isdigit() and len(arguments) <= len(str(most))
    if not plain or not 1 <= int(arguments) <= most:
        given = f"{agent}:{arguments}" if arguments else agent
        raise AgentError(f"agent {given!r}; allowed: {agent}:N with N from 1 to {most}"
                         f"{others and f', or {others}'}")
    return int(arguments)
