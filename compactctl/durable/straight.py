"""HTTP for S3 that follows no redirect: a server must not send a reader to another place.

botocore follows none by itself but to another region of the same bucket; aiobotocore, which s3fs
uses, leaves that to aiohttp, which follows any.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from compactctl.errors import UsageError


@functools.cache
def config() -> dict[str, Any]:
    """Return the ``config_kwargs`` of s3fs; the same each time, as what it caches goes by them.

    Raises:
        UsageError: the extra is missing.

    """
    try:
        http: Any = importlib.import_module("aiobotocore.httpsession")
    except ImportError:
        raise UsageError("s3:// needs another package: pip install 'compactctl[s3]'") from None
    base = http.AIOHTTPSession

    async def get_session(self: Any, proxy_url: Any) -> _Session:
        return _Session(await base._get_session(self, proxy_url))  # noqa: SLF001 (has no other name)

    return {"http_session_cls": type("Straight", (base,), {"_get_session": get_session})}


class _Session:
    """A session of aiohttp whose requests go where they are sent."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def request(self, *arguments: Any, **options: Any) -> Any:
        return await self._session.request(*arguments, **options, allow_redirects=False)
