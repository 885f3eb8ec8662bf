"""The bundle's part of the HTTP app: who may call, where screenshots are, what starts and ends with the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from runwire_graphs.demo import site
from runwire_graphs.guard import LOOPBACK_ORIGIN, Guard
from runwire_graphs.hands import HANDS
from runwire_graphs.settings import Settings
from runwire_graphs.shots import ROUTE, read_shot


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    port = Settings.read().demo_port
    if port is not None:
        await asyncio.to_thread(site.start, port)
    try:
        yield
    finally:
        await asyncio.to_thread(HANDS.close)
        await asyncio.to_thread(site.stop)


async def shot(request: Request) -> Response:
    """A screenshot. Whatever its bytes are, a browser takes it for a picture and for nothing else."""
    png = await asyncio.to_thread(read_shot, request.path_params["name"])
    if png is None:
        return Response("There is no such screenshot.\n", 404, media_type="text/plain")
    safe = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
    return Response(png, media_type="image/png", headers={**safe, "Cache-Control": "private, max-age=3600"})


async def about(request: Request) -> Response:
    """Where the demo site is, for whoever started the server."""
    return JSONResponse({"demo": site.origin()})


_settings = Settings.read()

app = Starlette(
    routes=[Route(f"{ROUTE}{{name}}", shot), Route("/runwire/about", about)],
    middleware=[
        Middleware(Guard),
        Middleware(
            CORSMiddleware,
            allow_origins=list(_settings.allowed_origins),
            allow_origin_regex=None if _settings.server_keys else LOOPBACK_ORIGIN,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["content-location", "location", "x-pagination-total", "x-pagination-next"],
        ),
    ],
    lifespan=lifespan,
)
