"""The game in the browser: a server for this machine alone, and the page it serves."""

import asyncio
import logging
import socket
import threading
import webbrowser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Final

from castle_env import Ruleset
from experiments.output import tell

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

HOST: Final = "127.0.0.1"
# What messages about the server's end are known by.
_FAREWELLS: Final = ("graceful shutdown", "CancelledError", "KeyboardInterrupt")


def serve(
    rules: Ruleset | None = None,
    players: tuple[str, str] = ("human", "alphabeta:4"),
    *,
    port: int = 8000,
    open_browser: bool = True,
    agents: Iterable[str] = (),
) -> None:
    """Serve the page on 127.0.0.1 until Ctrl-C, which raises `KeyboardInterrupt`.

    rules and players ("human" or an agent) are those of the game that the page begins with. `port`
    0 takes any free one. The page may seat agents that read no files and have bounded budgets, and
    beyond those only `players` and `agents`. Raises `OSError` if the port is taken.
    """
    from experiments.web.app import create_app

    app = create_app(rules, players, agents, load_ahead=True)
    with listen(port) as listener:
        url = f"http://{HOST}:{listener.getsockname()[1]}/"
        tell(f"Play at {url} (Ctrl-C ends the server)", flush=True)
        if open_browser:
            threading.Timer(0.5, webbrowser.open, (url,)).start()
        new_server(app).run(sockets=[listener])


def new_server(app: "FastAPI") -> "uvicorn.Server":
    """A server that waits a second, and no longer, for requests that are under way at its end."""
    import uvicorn

    logging.getLogger("uvicorn.error").addFilter(_is_no_farewell)
    return uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))


def _is_no_farewell(record: logging.LogRecord) -> bool:
    """Whether a message is about anything else than requests cut off by the server's end."""
    cause = record.exc_info[1] if record.exc_info else None
    return not (isinstance(cause, asyncio.CancelledError)
                or any(word in record.getMessage() for word in _FAREWELLS))


@contextmanager
def serving() -> Iterator[str]:
    """Serve in a thread of this process, on any free port; the server's address."""
    from experiments.web.app import create_app

    with listen(0) as listener:
        server = new_server(create_app())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while thread.is_alive() and not server.started:
                sleep(0.01)
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def listen(port: int) -> socket.socket:
    """A socket of this machine alone; raises `OSError` that names the port if it is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)  # requests before the server has begun wait for it
    except (OSError, OverflowError) as error:
        listener.close()
        raise OSError(f"cannot serve on port {port} of {HOST}: {error}; allowed: a free port from "
                      "1024 to 65535, or 0 for any") from error
    return listener
