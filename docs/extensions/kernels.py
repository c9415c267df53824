"""Replies of kernels are asked for every second.

A wait of pyzmq under asyncio can miss that a message has come, and then sleeps until its timer fires, which is the time
that a cell may take: minutes, for a cell of a second. With many short waits nothing is lost but a second.
"""

from __future__ import annotations

from queue import Empty
from time import monotonic
from typing import Any

from jupyter_client.channels import AsyncZMQSocketChannel

SLICE = 1.0  # seconds
WAIT = AsyncZMQSocketChannel.get_msg


async def get_msg(self: AsyncZMQSocketChannel, timeout: float | None = None) -> dict[str, Any]:
    """As the channel's own; raises ``Empty`` where no message has come within ``timeout`` seconds."""
    end = None if timeout is None else monotonic() + timeout
    while True:
        left = SLICE if end is None else max(0.0, min(SLICE, end - monotonic()))
        try:
            return await WAIT(self, timeout=left)
        except Empty:
            if end is not None and monotonic() >= end:
                raise


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    AsyncZMQSocketChannel.get_msg = get_msg  # type: ignore[method-assign]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
