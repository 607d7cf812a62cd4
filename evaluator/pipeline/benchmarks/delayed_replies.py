"""Serve replies of a model that does not exist, each after a fixed time: python -m … SECONDS

The process prints the address of the API, and ends when its standard input is closed. A reply depends on the request
alone. GET returns the time of the first request since the last GET, in seconds of the monotonic clock.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time


def completion(request: bytes) -> bytes:
    """Return the response to a chat request: a code block with a command that names the digest of the request."""
    text = f"```bash\necho {hashlib.sha256(request).hexdigest()}\n```"
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": len(request), "completion_tokens": len(text), "total_tokens": len(request) + len(text)}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "double", "choices": [choice]}
    return json.dumps({**body, "usage": usage}).encode()


async def serve(seconds: float) -> None:
    """Answer requests on a free port of loopback until the standard input is closed."""
    firsts: list[float] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.lower().split(b":", 1) for line in head.splitlines()[1:] if b":" in line)
                request = await reader.readexactly(int(fields.get(b"content-length", 0)))
                if head.startswith(b"GET "):
                    body = json.dumps(firsts[:1]).encode()
                    firsts.clear()
                else:
                    firsts.append(time.monotonic())
                    await asyncio.sleep(seconds)
                    body = completion(request)
                start = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(start.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has closed the connection
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
