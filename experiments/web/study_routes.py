"""The routes of a game that is looked at: variations, comments, the whole game judged."""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from experiments.web.requests import Change, Comment, Walk
from experiments.web.sessions import Sessions
from experiments.web.studying import Desk
from experiments.web.wire import Json

MAX_SECONDS: Final = 60.0

Seconds = Annotated[float, Query(gt=0, le=MAX_SECONDS)]


def study_routes(sessions: Sessions) -> APIRouter:
    """Everything is added to a game and nothing taken away.

    What changes the line or its comments is refused to a page that has missed a change.
    """
    router = APIRouter()
    desk = Desk(sessions.jobs)

    @router.post("/{name}/walk")
    async def walk(name: str, asked: Walk) -> Json:
        session = sessions.get(name)
        session.check_version(asked.version)
        return session.to_json(session.walk(asked.at, asked.actions))

    @router.post("/{name}/promote")
    async def promote(name: str, asked: Change) -> Json:
        session = sessions.get(name)
        session.check_version(asked.version)
        session.promote()
        return session.to_json()

    @router.post("/{name}/comment")
    async def comment(name: str, asked: Comment) -> Json:
        session = sessions.get(name)
        session.check_version(asked.version)
        session.comment(asked.at, asked.text)
        return session.to_json(asked.at + 1)

    @router.post("/{name}/judge")
    async def judge(name: str, seconds: Seconds = 1.0) -> Json:
        return await desk.judge(sessions.get(name), seconds)

    @router.post("/{name}/judge/stop")
    async def stop_judging(name: str) -> Json:
        desk.stop(sessions.get(name))
        return {}

    @router.get("/{name}/best/{at}")
    async def show_best_line(name: str, at: int, seconds: Seconds = 1.0) -> Json:
        return await desk.best_line(sessions.get(name), at, seconds)

    @router.post("/{name}/rematch", status_code=201)
    async def rematch(name: str) -> Json:
        live = sessions.get(name).live
        first, second = live.players
        return sessions.add(live.another((second, first))).to_json()

    return router
