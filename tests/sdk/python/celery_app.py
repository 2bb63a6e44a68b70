"""Tasks of the tests. They note what they did in Redis, because a worker is another process."""

import os
import time

import redis
import sluice
from celery import Celery
from sluice.celery import rate_limit

app = Celery("tests", broker=os.environ["BROKER"], backend=os.environ["BROKER"])
app.conf.update(broker_transport_options={"visibility_timeout": 600}, worker_send_task_events=False, task_acks_late=True,
                broker_connection_retry_on_startup=True)
client = sluice.Client()
notes = redis.Redis.from_url(os.environ["BROKER"])


@app.task(max_retries=1)
@rate_limit(client, key=lambda name, **_: name)
def fast(name: str) -> str:
    notes.rpush(f"ran:{name}", str(time.time()))
    return name


@app.task
@rate_limit(client, key=lambda name: name, when_denied="drop")
def dropped(name: str) -> str:
    notes.rpush(f"ran:{name}", "once")
    return name


@app.task
@rate_limit(client, key=lambda name, how: name)
def leased(name: str, how: str) -> str:
    notes.rpush(f"began:{name}", "once")
    notes.blpop([f"go:{name}"], timeout=30)
    if how == "fail":
        raise OSError("as the test wants")
    return how
