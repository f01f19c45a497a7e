"""The routes: JSON in and out under /api, games by id, and the files of the page."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import randbelow
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from castle_env import CastleError, Game, Ruleset, load_ruleset, preset_names
from castle_env.game_file import format_game, parse_games
from castle_env.game_record import GameRecord
from castle_env.ruleset import CAPTURE_CREDITS, ENTRY_LANES, ENTRY_STYLES, MAX_FACTIONS, MODES
from experiments.backend import told
from experiments.play.game_in_play import HUMAN, GameInPlay, new_game
from experiments.play.games_file import nth_game
from experiments.play.seating import seats_of
from experiments.web.guard import Guard
from experiments.web.jobs import JobStoppedError
from experiments.web.lessons import lessons_json
from experiments.web.opponents import Opponents, agent_for, check_seat
from experiments.web.position_editor import edited_position
from experiments.web.requests import (
    Change,
    EditPosition,
    LoadGame,
    MakeMove,
    NewGame,
    Reply,
    Seats,
    ruleset_of,
)
from experiments.web.sessions import ConflictError, Sessions, UnknownGameError
from experiments.web.study_routes import MAX_SECONDS, study_routes
from experiments.web.warming import Warming
from experiments.web.wire import Json, explained_json, position_json, rules_json

STATIC: Final = Path(__file__).parent / "static"
MAX_BYTES: Final = 1 << 20

Result = TypeVar("Result")


class Answer(Response):
    """JSON of plain values, written as they are: checking each would cost more than a move."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return json.dumps(content, separators=(",", ":")).encode()


def create_app(
    rules: Ruleset | None = None,
    players: tuple[str, str] = (HUMAN, "alphabeta:4"),
    agents: Iterable[str] = (),
    load_ahead: bool = False,
) -> FastAPI:
    """The server's application; for the arguments see `experiments.web.serve`.

    load_ahead: load at once what `players` and the analysis need, not when they are asked for.
    Raises `AgentError` where one of `players` cannot play the rules.
    """
    rules = load_ruleset("storm") if rules is None else rules
    opponents = Opponents((*agents, *players))
    for name in players:
        if name != HUMAN:
            agent_for(name, rules)
    sessions = Sessions()
    warming = Warming(sessions.jobs)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warming.start(rules, players if load_ahead else None)
        yield
        warming.stop()
        sessions.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None, max_body_size=MAX_BYTES,
                  exception_handlers=_HANDLERS)
    app.add_middleware(Guard)
    ready = [Depends(warming.wait_for_rules)]
    app.include_router(_game_routes(sessions, opponents, warming), prefix="/api/games",
                       dependencies=ready)
    app.include_router(study_routes(sessions), prefix="/api/games", dependencies=ready)
    app.include_router(_other_routes(opponents, rules, players), prefix="/api",
                       dependencies=ready)

    @app.get("/api/ready")
    async def show_progress() -> Json:
        return {"ready": warming.rules_ready.is_set(), "doing": warming.doing}

    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


# Games


def _game_routes(sessions: Sessions, opponents: Opponents, warming: Warming) -> APIRouter:
    router = APIRouter()

    async def begin(live: GameInPlay) -> Json:
        await seated(live.game.rules, live.players)
        return sessions.add(live).to_json()

    async def seated(rules: Ruleset, players: tuple[str, str]) -> None:
        """Raise what agents raise when they are made for a ruleset; load what they need."""
        for name in set(players) - {HUMAN}:
            await _in_thread(sessions, lambda name=name: check_seat(name, rules))  # type: ignore[misc]
        warming.ask(players, rules)

    @router.post("")
    async def begin_game(asked: NewGame) -> Answer:
        rules = ruleset_of(asked.ruleset)
        players = opponents.pair(asked.players)
        seed = randbelow(1 << 32) if asked.seed is None else asked.seed
        start = None if asked.start is None else Game(rules).parse_position(asked.start)
        return Answer(await begin(new_game(rules, players, seed, start)), 201)

    @router.post("/load")
    async def load_game(asked: LoadGame) -> Answer:
        games = await _in_thread(sessions, lambda: parse_games(asked.text, asked.name))
        record = nth_game(games, asked.number, asked.name)
        players = await _in_thread(sessions, lambda: seats_of(record))
        game = await begin(GameInPlay(record, players))
        return Answer(game | {"games": [_title(other) for other in games[:1000]]}, 201)

    @router.get("/{name}")
    async def show_game(name: str) -> Answer:
        return Answer(sessions.get(name).to_json())

    @router.get("/{name}/positions/{at}")
    async def show_position(name: str, at: int) -> Answer:
        return Answer(sessions.get(name).position_json(at))

    @router.get("/{name}/positions/{at}/explained")
    async def explain_position(name: str, at: int) -> Answer:
        session = sessions.get(name)
        return Answer(explained_json(session.live.game, session.state_at(at)))

    @router.get("/{name}/lessons")
    async def show_lessons(name: str) -> Answer:
        rules = sessions.get(name).live.game.rules
        return Answer(await _in_thread(sessions, lambda: lessons_json(rules)))

    @router.post("/{name}/moves")
    async def make_move(name: str, asked: MakeMove) -> Answer:
        session = sessions.get(name)
        session.check_version(asked.version)
        return Answer(session.to_json(session.play(asked.at, asked.action)))

    @router.post("/{name}/reply")
    async def make_reply(name: str, asked: Reply) -> Answer:
        session = sessions.get(name)
        mover = session.live.player_to_move
        if not await warming.wait_for(mover, session.live.game.rules):
            return Answer({"moved": False, "game": None, "loading": True})
        moved = await session.reply(sessions.jobs, asked.at)
        return Answer({"moved": moved, "game": session.to_json() if moved else None,
                       "loading": False})

    @router.post("/{name}/undo")
    async def undo(name: str, asked: Change) -> Answer:
        session = sessions.get(name)
        session.check_version(asked.version)
        session.undo()
        return Answer(session.to_json())

    @router.post("/{name}/stop")
    async def stop(name: str) -> Answer:
        session = sessions.get(name)
        session.stop_thinking()
        return Answer(session.to_json())

    @router.post("/{name}/analysis/stop")
    async def stop_analysis(name: str) -> Answer:
        sessions.get(name).stop_analysis()
        return Answer({})

    @router.post("/{name}/seats")
    async def change_seats(name: str, asked: Seats) -> Answer:
        session = sessions.get(name)
        session.check_version(asked.version)
        players = opponents.pair(asked.players)
        await seated(session.live.game.rules, players)
        session.check_version(asked.version)  # it may have changed while the agents were made
        session.seat(players)
        return Answer(session.to_json())

    @router.get("/{name}/analysis/{at}")
    async def analyse(
        name: str, at: int, seconds: Annotated[float, Query(gt=0, le=MAX_SECONDS)] = 2.0
    ) -> Answer:
        return Answer(await sessions.get(name).analyse(sessions.jobs, at, seconds))

    @router.get("/{name}/file")
    async def save_game(name: str) -> Response:
        text = format_game(sessions.get(name).annotated())
        headers = {"Content-Disposition": f'attachment; filename="{name}.castle"'}
        return PlainTextResponse(text, headers=headers)

    return router


async def _in_thread(sessions: Sessions, work: Callable[[], Result]) -> Result:
    """What `work` returns, which may take a while."""
    job = sessions.jobs.start(lambda job: work())
    while not await job.wait(MAX_SECONDS):
        pass
    return job.result()


def _title(record: GameRecord) -> str:
    first, second = record.players
    result = "unfinished" if record.outcome is None else f"{record.outcome.margin:+d}"
    return f"{first} - {second}, {record.rules.name}, {record.plies} plies, {result}"


# What does not belong to a game


def _other_routes(opponents: Opponents, rules: Ruleset, players: tuple[str, str]) -> APIRouter:
    router = APIRouter()

    def offer(rules: Ruleset) -> Json:
        return {"rules": rules_json(rules), "agents": opponents.fitting(rules)}

    options = {
        "presets": [offer(load_ruleset(name)) for name in preset_names()],
        "agents": opponents.offered(),
        "first": offer(rules) | {"players": players},
        "choices": {"mode": MODES, "entry_lanes": ENTRY_LANES, "entry_style": ENTRY_STYLES,
                    "capture_credit": CAPTURE_CREDITS, "most_factions": MAX_FACTIONS},
    }

    @router.get("/options")
    async def show_options() -> Answer:
        return Answer(options)

    @router.post("/positions")
    async def check_position(asked: EditPosition) -> Answer:
        game = Game(ruleset_of(asked.ruleset))
        position = edited_position(game, asked)
        return Answer(position_json(game, position, None, None) | {
            "rules": rules_json(game.rules), "agents": opponents.fitting(game.rules)})

    return router


# Errors: always {"error": message}, but for bodies of more than MAX_BYTES


def _failure(status: int) -> Callable[[Request, Exception], JSONResponse]:
    return lambda request, error: JSONResponse({"error": str(error)}, status)


def _http_failure(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code)


def _bad_request(request: Request, error: Exception) -> JSONResponse:
    """What is wrong with a request: the field, what was given, what is allowed."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        message = first["ctx"]["error"]
        return JSONResponse({"error": f"the request is no valid JSON: {message}"}, 400)
    where = ".".join(str(part) for part in first["loc"][1:]) or "request"
    given = repr(first.get("input"))
    return JSONResponse({"error": f"{where} is {given[:80]}: {first['msg']}"}, 400)


def _fault(request: Request, error: Exception) -> JSONResponse:
    """What other code has raised, such as an agent, and where; the terminal shows the rest."""
    return JSONResponse({"error": told(error).partition("\n")[0]}, 500)


_HANDLERS: Final[dict[Any, Any]] = {
    RequestValidationError: _bad_request,
    HTTPException: _http_failure,
    UnknownGameError: _failure(404),
    ConflictError: _failure(409),
    JobStoppedError: lambda request, error: JSONResponse({"error": "the search was stopped"}, 409),
    CastleError: _failure(400),
    Exception: _fault,
}
