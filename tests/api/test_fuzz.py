"""Lines without end, most of them wrong: every right one among them is answered, once.

`BYRED_FUZZ_LINES` says how many lines are sent in all; `BYRED_FUZZ_SEED` with which seed.
"""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

LINES = int(os.environ.get("BYRED_FUZZ_LINES", "100000"))
SEED = int(os.environ.get("BYRED_FUZZ_SEED", "1"))
CLIENTS = 8
LIMIT = 1 << 18
EVERY = 50
MIB = 1 << 20


def request(rnd: random.Random, ident: object) -> dict[str, object]:
    method = rnd.choice(["test.echo", "test.pair", "test.push", "test.refuse", "test.nothing"])
    params = rnd.choice([{"text": "invalid"}, {"text": "a", "times": 2}, {"to": 2}, {}, {"x": [1]}])
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


def insert(rnd: random.Random, text: bytes) -> bytes:
    at = rnd.randrange(len(text))
    return text[:at] + rnd.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00"]) + text[at:]


def swap(rnd: random.Random, text: bytes) -> bytes:
    swapped = bytearray(text)
    for _ in range(rnd.randrange(1, 5)):
        swapped[rnd.randrange(len(swapped))] = rnd.randrange(11, 256)
    return bytes(swapped)


def number(rnd: random.Random, text: bytes) -> bytes:
    digits = b"9" * rnd.choice([20, 400, 5000]) + rnd.choice([b"", b"e9", b".5"])
    return text.replace(b'"id": ', b'"id": ' + digits, 1)


def nest(rnd: random.Random, _: bytes) -> bytes:
    depth = rnd.choice([50, 1000, 100_000])
    return rnd.choice([b"[" * depth, b"[" * depth + b"]" * depth, b'{"a":' * depth])


def stretch(rnd: random.Random, text: bytes) -> bytes:
    if rnd.random() < 0.99:
        return text
    return b'"' + b"x" * (LIMIT + rnd.randrange(LIMIT)) + b'"'


NESTED = b"[" * 2000 + b"]" * 2000
ODD = (b"", b" ", b"\r", b"null", b"0", b'""', b"\xef\xbb\xbf{}", "\u2028".encode())
WAYS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    insert,
    swap,
    number,
    nest,
    stretch,
    lambda _, text: text,
    lambda rnd, text: text[: rnd.randrange(len(text))],
    lambda rnd, text: text + rnd.choice([text, b"}", b",", b" x"]),
    lambda rnd, text: b"[" + b",".join([text] * rnd.randrange(4)) + b"]",
    lambda rnd, _: rnd.choice(ODD),
    lambda rnd, _: b"\x00" * rnd.randrange(1, 50),
    lambda rnd, _: rnd.randbytes(rnd.randrange(1, 200)).replace(b"\n", b" "),
    lambda *_: b'{"jsonrpc":"2.0","id":1,"id":2,"method":"test.pair","method":"test.echo"}',
    lambda *_: b'{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{"text":%b}}' % NESTED,
)


def broken(rnd: random.Random) -> bytes:
    """Give a line that is wrong in one of many ways, or right by chance."""
    ident = rnd.choice([1, 1, "a", None, True, False, [], {}, 1.5, -0.0, 10**30])
    return rnd.choice(WAYS)(rnd, json.dumps(request(rnd, ident)).encode())


def script(seed: int, count: int) -> Iterator[tuple[bytes, str | None]]:
    """Yield lines, with the id of those that must be answered."""
    rnd = random.Random(seed)
    for number in range(count):
        if number % EVERY == 0:
            ident = f"right-{seed}-{number}"
            call = {"jsonrpc": "2.0", "id": ident, "method": "test.echo", "params": {"text": ident}}
            yield json.dumps(call).encode() + b"\n", ident
        else:
            yield broken(rnd) + b"\n", None


def resident(pid: int) -> int:
    """Give the memory (bytes) that a process has now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


async def attack(path: Path, seed: int, count: int) -> None:
    """Send a script in pieces of any size, and check what comes back."""
    reader, writer = await asyncio.open_unix_connection(str(path), limit=1 << 24)
    rnd = random.Random(-seed)
    expected = set()

    async def send() -> None:
        held = b""
        for line, ident in script(seed, count):
            expected.add(ident)
            held += line
            # Pieces end anywhere, so that the lines of all clients are interleaved.
            if len(held) > rnd.randrange(1, 20_000):
                cut = rnd.randrange(1, len(held) + 1)
                writer.write(held[:cut])
                held = held[cut:]
                await writer.drain()
        writer.write(held)
        writer.write_eof()
        await writer.drain()

    sending = asyncio.create_task(send())
    answered: Counter[str] = Counter()
    async with asyncio.timeout(3600):
        while line := await reader.readline():
            reply = json.loads(line)
            for part in reply if isinstance(reply, list) else [reply]:
                ident = part.get("id")
                if isinstance(ident, str) and ident.startswith("right-"):
                    assert part["result"]["text"] == ident
                    answered[ident] += 1
        await sending
    writer.close()
    assert answered == Counter(expected - {None})


@pytest.mark.timeout(3600)
@pytest.mark.promise("other_clients_unharmed")
@pytest.mark.parametrize("separate", [LIMIT], indirect=True)
async def test_every_right_line_among_the_wrong_is_answered_once(separate) -> None:
    path, pid = separate
    reader, writer = await asyncio.open_unix_connection(str(path))
    served = 0

    async def ask() -> None:
        nonlocal served
        while True:
            writer.write(b'{"jsonrpc":"2.0","id":1,"method":"test.pair"}\n')
            async with asyncio.timeout(30):
                assert b'"result"' in await reader.readline()
            served += 1
            await asyncio.sleep(0.02)

    before = resident(pid)
    share = LINES // CLIENTS // 2
    asking = asyncio.create_task(ask())
    seeds = range(SEED * 1000, SEED * 1000 + 2 * CLIENTS)
    await asyncio.gather(*(attack(path, seed, share) for seed in seeds[:CLIENTS]))
    after_half = resident(pid)
    print(f"{LINES // 2:,} lines; resident {before / MIB:.1f}, {after_half / MIB:.1f} MiB")
    await asyncio.gather(*(attack(path, seed, share) for seed in seeds[CLIENTS:]))
    assert not asking.done(), asking.result()
    asking.cancel()
    writer.close()
    assert served > 10
    # What the second half needed was given back by the first.
    after = resident(pid)
    print(f"{LINES:,} lines, {served:,} of another client; resident {after / MIB:.1f} MiB")
    assert after < after_half + 32 * MIB
