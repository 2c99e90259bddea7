"""Reader of the task `limits`: what a cache and a limiter answer to a sequence of calls."""

import importlib
from typing import Any


def cached(size: int, calls: list[str]) -> list[Any]:
    """What a new cache answers to calls such as "a=1" (store), "a" (read) and "a or 5" (read, with a default); last its keys."""
    cache = importlib.import_module("cache").Cache(size)
    answers: list[Any] = []
    for call in calls:
        key, stores, value = call.partition("=")
        name, _, default = key.partition(" or ")
        if stores:
            cache.put(key, value)
        else:
            answers.append(cache.get(name, default) if default else cache.get(name))
    return [*answers, cache.keys()]


def allowed(limit: int, seconds: float, requests: list[tuple[str, float]]) -> list[Any]:
    """Whether a new limiter allows each of these requests: who, and when."""
    limiter = importlib.import_module("limiter").Limiter(limit, seconds)
    return [limiter.allow(who, at) for who, at in requests]


def waits(limit: int, seconds: float, requests: list[tuple[str, float]]) -> Any:
    """How long the last of these must wait, once the others have asked."""
    limiter = importlib.import_module("limiter").Limiter(limit, seconds)
    for who, at in requests[:-1]:
        limiter.allow(who, at)
    return limiter.wait(*requests[-1])
