"""Consumers of the tests with the broker that librdkafka has for tests. Prints one JSON object a message, and a last one.

kafka_program.py confluent|aiokafka
"""

import asyncio
import json
import sys
import time

import sluice
from confluent_kafka import Consumer, Producer
from sluice.kafka import AsyncLimitedConsumer, LimitedConsumer

SLOW, FREE = 4, 6   # messages of partition 0, whose subject is limited, and of partition 1


def say(**members: object) -> None:
    print(json.dumps(members), flush=True)


def fill(producer: Producer) -> None:
    for number in range(SLOW):
        producer.produce("events", f"{number}", key="slow", partition=0)
    for number in range(FREE):
        producer.produce("events", f"{number}", key="free", partition=1)
    assert producer.flush(30) == 0


def confluent(brokers: str) -> None:
    plain = Consumer({"bootstrap.servers": brokers, "group.id": "workers", "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer = LimitedConsumer(plain, sluice.Client(), group="workers", fields=lambda message: {"subject": message.key().decode()})
    consumer.subscribe(["events"])
    ends, found = time.monotonic() + 60, 0
    while found < SLOW + FREE and time.monotonic() < ends:
        message = consumer.poll(1.0)
        if message is None:
            continue
        assert message.error() is None, message.error()
        found += 1
        say(key=message.key().decode(), value=message.value().decode(), at=time.monotonic())
        consumer.commit(message, asynchronous=False)
    assert consumer.poll(0.2) is None
    consumer.close()


async def asynchronous(brokers: str) -> None:
    from aiokafka import AIOKafkaConsumer
    plain = AIOKafkaConsumer("events", bootstrap_servers=brokers, group_id="workers", auto_offset_reset="earliest")
    await plain.start()
    consumer = AsyncLimitedConsumer(plain, sluice.AsyncClient(), group="workers", fields=lambda message: {"subject": message.key.decode()})
    found = 0
    async for message in consumer:
        found += 1
        say(key=message.key.decode(), value=message.value.decode(), at=time.monotonic())
        if found == SLOW + FREE:
            break
    await consumer.stop()


def main() -> None:
    producer = Producer({"test.mock.num.brokers": 1})   # a broker within this process, which speaks Kafka's protocol
    brokers = ",".join(f"{one.host}:{one.port}" for one in producer.list_topics(timeout=30).brokers.values())
    fill(producer)
    if sys.argv[1] == "confluent":
        confluent(brokers)
    else:
        asyncio.run(asyncio.wait_for(asynchronous(brokers), 60))
    say(done=True)


main()
