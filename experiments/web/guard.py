"""Who may talk to the server: this machine's browser, on the server's own page."""

from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS: Final = ("127.0.0.1", "localhost")
# What a link from elsewhere, such as from a notebook's terminal, may open in a window of its own.
_PAGE: Final = ("/", "/index.html")

# A page that does nothing but what its own files say, and that no other page can frame or read.
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
                               "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                               "form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """Middleware that refuses requests of other pages and of names that other sites chose.

    A site whose name resolves to 127.0.0.1 (DNS rebinding) is known by its Host, another page by
    its Origin or by what the browser says in Sec-Fetch-Site. A link on another page may open the
    page in a window, since that tells the other page nothing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it with 403."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        reason = reason_to_refuse(Headers(scope=scope), scope["method"], scope["path"])
        app = JSONResponse({"error": reason}, 403) if reason else self._app
        await app(scope, receive, send_guarded)


def reason_to_refuse(headers: Headers, method: str, path: str) -> str:
    """Why a request is not from the server's own page; empty if it may be."""
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
        return f"requests to host {host!r} are refused; allowed: {', '.join(HOSTS)}"
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return f"requests from origin {origin!r} are refused; allowed: http://{host}"
    site = headers.get("sec-fetch-site", "none")
    if site not in ("none", "same-origin") and not _opens_the_page(headers, method, path):
        return f"requests from other pages (Sec-Fetch-Site {site!r}) are refused"
    return ""


def _opens_the_page(headers: Headers, method: str, path: str) -> bool:
    """Whether a browser asks for the page itself, to show it in a window and not in a frame."""
    return (method == "GET" and path in _PAGE and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document")
