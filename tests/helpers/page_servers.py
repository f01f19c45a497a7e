"""Servers of the page that can go away, and come back without their games."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from experiments.web import HOST, listen, new_server
from experiments.web.app import create_app


class PageServer:
    """A server on a port of its own."""

    def __init__(self, players: tuple[str, str]) -> None:
        self._players, self._port = players, 0

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self._port}"

    def start(self) -> None:
        self._listener = listen(self._port)
        self._port = self._listener.getsockname()[1]
        self._server = new_server(create_app(players=self._players))
        self._thread = threading.Thread(target=self._server.run,
                                        kwargs={"sockets": [self._listener]})
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()


@contextmanager
def page_server(players: tuple[str, str] = ("human", "alphabeta:4")) -> Iterator[PageServer]:
    server = PageServer(players)
    server.start()
    try:
        yield server
    finally:
        server.stop()
