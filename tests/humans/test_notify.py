"""People hear of questions through Apprise; a service that fails delays nobody."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from byred.core.question import Question
from byred.humans.notify import MOST_WAITING, Notifier


def question() -> Question:
    return Question(
        id=3,
        task_id=7,
        text="Which colour?",
        options=("red", "blue"),
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
        thread_id="t",
        turn_id="u",
        call_id="c",
    )


@asynccontextmanager
async def service(received: "asyncio.Queue[dict[str, str]]") -> AsyncIterator[str]:
    """A service that takes notices as JSON; gives its Apprise URL."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        received.put_nowait(json.loads(await reader.readexactly(length)))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        yield f"json://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_question_is_sent_with_how_to_answer_it() -> None:
    received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    async with service(received) as url:
        notifier = Notifier([url])
        running = asyncio.create_task(notifier.run())
        notifier.question(question())
        notice = await asyncio.wait_for(received.get(), 30)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert "task 7" in notice["title"]
    assert "Which colour?" in notice["message"]
    assert "blue" in notice["message"]
    assert "byre answer 3" in notice["message"]


async def test_a_service_that_fails_holds_up_nothing_after_it() -> None:
    received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    async with service(received) as url:
        # A URL that no service of Apprise's understands stands beside one that works.
        notifier = Notifier(["nonsense://nowhere", url])
        notifier.send("first", "x")
        notifier.send("second", "x")
        running = asyncio.create_task(notifier.run())
        titles = [(await asyncio.wait_for(received.get(), 60))["title"] for _ in range(2)]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert titles == ["first", "second"]


def test_nobody_who_wants_none_is_sent_any_and_the_wait_is_bounded() -> None:
    quiet = Notifier([])
    quiet.send("a", "b")
    full = Notifier(["json://127.0.0.1:9"])
    for number in range(MOST_WAITING + 5):
        full.send(str(number), "x")
    assert full.waiting == MOST_WAITING
    assert quiet.waiting == 0
