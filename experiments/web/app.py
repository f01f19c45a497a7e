"""The routes: JSON in and out under /api, games by id, and the files of the page."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import randbelow
from typing import Annotated, Any, Final, TypeVar

import numpy as np
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from agents.solve.analysis import analyse_moves
from castle_env import CastleError, Game, Ruleset, load_ruleset, preset_names
from castle_env.game_file import format_game, parse_games
from castle_env.game_record import GameRecord
from castle_env.position import stack
from castle_env.ruleset import CAPTURE_CREDITS, ENTRY_LANES, ENTRY_STYLES, MAX_FACTIONS, MODES
from experiments.play.game_in_play import HUMAN, GameInPlay, new_game
from experiments.play.games_file import nth_game
from experiments.play.seating import seats_of
from experiments.web.guard import Guard
from experiments.web.jobs import Job, JobStoppedError
from experiments.web.opponents import Opponents, agent_for
from experiments.web.position_editor import edited_position
from experiments.web.requests import (
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
from experiments.web.wire import Json, position_json, reasons_json, rules_json

STATIC: Final = Path(__file__).parent / "static"
MAX_BYTES: Final = 1 << 20

Result = TypeVar("Result")


def create_app(
    rules: Ruleset | None = None,
    players: tuple[str, str] = (HUMAN, "alphabeta:4"),
    agents: Iterable[str] = (),
) -> FastAPI:
    """The server's application; for the arguments see `experiments.web.serve`.

    Raises `AgentError` where one of `players` cannot play the rules.
    """
    rules = load_ruleset("storm") if rules is None else rules
    opponents = Opponents((*agents, *players))
    for name in players:
        if name != HUMAN:
            agent_for(name, rules)
    sessions = Sessions()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        _warm_up()
        warming = sessions.jobs.start(_warm_up_searches)
        yield
        warming.stop()
        sessions.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None, max_body_size=MAX_BYTES,
                  exception_handlers=_HANDLERS)
    app.add_middleware(Guard)
    app.include_router(_game_routes(sessions, opponents), prefix="/api/games")
    app.include_router(study_routes(sessions), prefix="/api/games")
    app.include_router(_other_routes(opponents, rules, players), prefix="/api")
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


def _warm_up() -> None:
    """Load the compiled code that answers need, so that the first is as fast as the others."""
    for preset in ("storm", "sudden-death"):
        game = Game(load_ruleset(preset))
        start = game.initial_state()
        position_json(game, game.apply(start, game.legal_actions(start)[0]), None, None)


def _warm_up_searches(job: Job[None]) -> None:
    """Load the compiled code of searches, which may have to be compiled, while the page is used."""
    rng = np.random.default_rng(0)
    for preset in ("storm", "sudden-death"):
        game = Game(load_ruleset(preset))
        start = game.initial_state()
        for name in ("alphabeta:2", "mcts:2", "alphabeta:1ms"):
            if not job.stopped():
                agent_for(name, game.rules).select_actions(stack([start]), rng)
        analyse_moves(game, game.apply(start, game.legal_actions(start)[0]), seconds=0.1,
                      stopped=job.stopped)


# Games


def _game_routes(sessions: Sessions, opponents: Opponents) -> APIRouter:
    router = APIRouter()

    async def begin(live: GameInPlay) -> Json:
        await _seated(sessions, live.game.rules, live.players)
        return sessions.add(live).to_json()

    @router.post("", status_code=201)
    async def begin_game(asked: NewGame) -> Json:
        rules = ruleset_of(asked.ruleset)
        players = opponents.pair(asked.players)
        seed = randbelow(1 << 32) if asked.seed is None else asked.seed
        start = None if asked.start is None else Game(rules).parse_position(asked.start)
        return await begin(new_game(rules, players, seed, start))

    @router.post("/load", status_code=201)
    async def load_game(asked: LoadGame) -> Json:
        games = await _in_thread(sessions, lambda: parse_games(asked.text, asked.name))
        record = nth_game(games, asked.number, asked.name)
        players = await _in_thread(sessions, lambda: seats_of(record))
        game = await begin(GameInPlay(record, players))
        return game | {"games": [_title(other) for other in games[:1000]]}

    @router.get("/{name}")
    async def show_game(name: str) -> Json:
        return sessions.get(name).to_json()

    @router.get("/{name}/positions/{at}")
    async def show_position(name: str, at: int) -> Json:
        return sessions.get(name).position_json(at)

    @router.get("/{name}/positions/{at}/reasons")
    async def show_reasons(name: str, at: int) -> dict[int, str]:
        session = sessions.get(name)
        return reasons_json(session.live.game, session.state_at(at))

    @router.post("/{name}/moves")
    async def make_move(name: str, asked: MakeMove) -> Json:
        session = sessions.get(name)
        return session.to_json(session.play(asked.at, asked.action))

    @router.post("/{name}/reply")
    async def make_reply(name: str, asked: Reply) -> Json:
        session = sessions.get(name)
        moved = await session.reply(sessions.jobs, asked.at)
        return {"moved": moved, "game": session.to_json() if moved else None}

    @router.post("/{name}/undo")
    async def undo(name: str) -> Json:
        session = sessions.get(name)
        session.undo()
        return session.to_json()

    @router.post("/{name}/stop")
    async def stop(name: str) -> Json:
        session = sessions.get(name)
        session.stop_thinking()
        return session.to_json()

    @router.post("/{name}/analysis/stop")
    async def stop_analysis(name: str) -> Json:
        sessions.get(name).stop_analysis()
        return {}

    @router.post("/{name}/seats")
    async def change_seats(name: str, asked: Seats) -> Json:
        session = sessions.get(name)
        players = opponents.pair(asked.players)
        await _seated(sessions, session.live.game.rules, players)
        session.seat(players)
        return session.to_json()

    @router.get("/{name}/analysis/{at}")
    async def analyse(
        name: str, at: int, seconds: Annotated[float, Query(gt=0, le=MAX_SECONDS)] = 2.0
    ) -> Json:
        return await sessions.get(name).analyse(sessions.jobs, at, seconds)

    @router.get("/{name}/file")
    async def save_game(name: str) -> Response:
        text = format_game(sessions.get(name).annotated())
        headers = {"Content-Disposition": f'attachment; filename="{name}.castle"'}
        return PlainTextResponse(text, headers=headers)

    return router


async def _seated(sessions: Sessions, rules: Ruleset, players: tuple[str, str]) -> None:
    """Raise what the agents of both seats raise when they are made for a ruleset."""
    for name in set(players) - {HUMAN}:
        await _in_thread(sessions, lambda name=name: agent_for(name, rules))  # type: ignore[misc]


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
    options = {
        "presets": [rules_json(Game(load_ruleset(name))) for name in preset_names()],
        "agents": opponents.offered(),
        "first": {"rules": rules_json(Game(rules)), "players": players},
        "choices": {"mode": MODES, "entry_lanes": ENTRY_LANES, "entry_style": ENTRY_STYLES,
                    "capture_credit": CAPTURE_CREDITS, "most_factions": MAX_FACTIONS},
    }

    @router.get("/options")
    async def show_options() -> Json:
        return options

    @router.post("/positions")
    async def check_position(asked: EditPosition) -> Json:
        game = Game(ruleset_of(asked.ruleset))
        position = edited_position(game, asked)
        return position_json(game, position, None, None) | {"rules": rules_json(game)}

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


_HANDLERS: Final[dict[Any, Any]] = {
    RequestValidationError: _bad_request,
    HTTPException: _http_failure,
    UnknownGameError: _failure(404),
    ConflictError: _failure(409),
    JobStoppedError: lambda request, error: JSONResponse({"error": "the search was stopped"}, 409),
    CastleError: _failure(400),
}
