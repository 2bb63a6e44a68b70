"""Kafka: consumers that give a message when its check passes. Order within a partition stays.

`LimitedConsumer` wraps a confluent_kafka.Consumer, `AsyncLimitedConsumer` an aiokafka.AIOKafkaConsumer. Both have the wrapped
consumer's other methods. The check has the resource `topic:TOPIC`, the topic, and the consumer group.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sluice._async import AsyncClient
from sluice._decision import Decision
from sluice._errors import SluiceError
from sluice._sync import Client

__all__ = ["AsyncLimitedConsumer", "LimitedConsumer"]
Fields = Callable[[Any], Mapping[str, Any]]
_AGAIN = 1.0   # seconds until a check is made again whose decision does not say when


def _undecided(error: SluiceError) -> Decision:
    return Decision(False, "error", "deny", would_allow=False, status=error.status, decided=False, error=error)


def _pause_of(decision: Decision) -> float:
    """How long a message is held; 0 if it may go on."""
    if decision.allowed:
        return decision.delay
    return max(0.01, decision.retry_after if decision.retry_after is not None else _AGAIN)


@dataclass
class _Held:
    """A message that waits. `passed`: its check passed, and only the delay is waited for."""

    message: Any
    due: float
    passed: bool


class LimitedConsumer:
    """A confluent_kafka.Consumer whose `poll` gives only messages that may be processed now.

    A message that is denied is held, and its partition paused until the check passes; others go on. The broker keeps the
    consumer in its group meanwhile, because `poll` goes on. `fields`: members of the check from a message, such as
    `lambda message: {"subject": message.key().decode()}`. Commits are the application's own; the position of a partition is behind the
    held message, so commit the messages that `poll` gave (`enable.auto.offset.store` false, or `commit(message)`).
    """

    def __init__(self, consumer: Any, client: Client, *, group: str | None = None, fields: Fields | None = None) -> None:
        self._consumer = consumer
        self._client = client
        self._group = group
        self._fields = fields
        self._held: dict[tuple[str, int], _Held] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def subscribe(self, topics: list[str], on_assign: Any = None, on_revoke: Any = None, on_lost: Any = None) -> None:
        """As the consumer's. Messages of partitions that are taken away are no longer held."""

        def forgetting(handler: Any) -> Callable[[Any, list[Any]], None]:
            def forget(consumer: Any, partitions: list[Any]) -> None:
                for one in partitions:
                    self._held.pop((one.topic, one.partition), None)
                if handler is not None:
                    handler(consumer, partitions)

            return forget

        callbacks = {"on_revoke": forgetting(on_revoke), "on_lost": forgetting(on_lost or on_revoke)}
        if on_assign is not None:
            callbacks["on_assign"] = on_assign
        self._consumer.subscribe(topics, **callbacks)

    def poll(self, timeout: float | None = None) -> Any:
        """The next message that may be processed; None after `timeout` seconds. Messages with an error pass unchecked."""
        ends = None if timeout is None or timeout < 0 else time.monotonic() + timeout
        while True:
            message = self._due()
            if message is not None:
                return message
            message = self._consumer.poll(self._longest(ends))
            if message is not None:
                if message.error() is not None:
                    return message
                if self._admit(message):
                    return message
            elif ends is not None and time.monotonic() >= ends:
                return None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        """As the consumer's, a message at a time."""
        ends = None if timeout < 0 else time.monotonic() + timeout
        found: list[Any] = []
        while len(found) < num_messages:
            message = self.poll(None if ends is None else max(0.0, ends - time.monotonic()))
            if message is None:
                break
            found.append(message)
        return found

    def _longest(self, ends: float | None) -> float:
        """How long the consumer may be polled: never for ever, because a held message may become due."""
        now = time.monotonic()
        until = [one.due for one in self._held.values()] + ([ends] if ends is not None else [])
        return max(0.0, min([now + 1.0, *until]) - now)

    def _due(self) -> Any:
        """A held message whose time has come and that passes."""
        now = time.monotonic()
        for where, held in sorted(self._held.items(), key=lambda item: item[1].due):
            if held.due > now:
                return None
            if not held.passed:
                decision = self._check(held.message)
                pause = _pause_of(decision)
                if pause > 0 or not decision.allowed:
                    self._held[where] = _Held(held.message, time.monotonic() + pause, decision.allowed)
                    continue
            del self._held[where]
            self._consumer.resume([self._partition(held.message)])
            return held.message
        return None

    def _admit(self, message: Any) -> bool:
        where = (message.topic(), message.partition())
        if where not in self._held:
            decision = self._check(message)
            pause = _pause_of(decision)
            if decision.allowed and pause == 0:
                return True
            self._held[where] = _Held(message, time.monotonic() + pause, decision.allowed)
            self._consumer.pause([self._partition(message)])
            return False
        # It was on its way when its partition was paused: read it again after the one that is held.
        self._consumer.pause([self._partition(message)])
        self._consumer.seek(self._partition(message, self._held[where].message.offset() + 1))
        return False

    def _check(self, message: Any) -> Decision:
        fields: dict[str, Any] = {"resource": f"topic:{message.topic()}", "topic": message.topic(), "consumer_group": self._group}
        try:
            return self._client.check(**{**fields, **(self._fields(message) if self._fields is not None else {})})
        except SluiceError as error:   # on_error is raise
            return _undecided(error)

    @staticmethod
    def _partition(message: Any, offset: int | None = None) -> Any:
        from confluent_kafka import TopicPartition
        return TopicPartition(message.topic(), message.partition(), *([] if offset is None else [offset]))


class AsyncLimitedConsumer:
    """An aiokafka.AIOKafkaConsumer whose `getone` and iteration wait until the message's check passes.

    aiokafka stays in its group meanwhile for `max_poll_interval_ms`, which must be longer than a message may wait. The position is behind
    the message that waits: commit what was processed, by its offset.
    """

    def __init__(self, consumer: Any, client: AsyncClient, *, group: str | None = None, fields: Fields | None = None) -> None:
        self._consumer = consumer
        self._client = client
        self._group = group
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    async def getone(self, *partitions: Any) -> Any:
        """The next message, when it may be processed."""
        return await self._passed(await self._consumer.getone(*partitions))

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for message in self._consumer:
            yield await self._passed(message)

    async def _passed(self, message: Any) -> Any:
        fields: dict[str, Any] = {"resource": f"topic:{message.topic}", "topic": message.topic, "consumer_group": self._group}
        fields |= self._fields(message) if self._fields is not None else {}
        while True:
            try:
                decision = await self._client.check(**fields)
            except SluiceError as error:   # on_error is raise
                decision = _undecided(error)
            pause = _pause_of(decision)
            if pause > 0:
                await asyncio.sleep(pause)
            if decision.allowed:
                return message
