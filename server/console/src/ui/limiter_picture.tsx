// The state of a limiter, drawn: the level of a bucket, the counts of windows, the entries of a log, leases. It moves on
// with the store's clock between two reads. Sizes are attributes, because the page allows no inline style.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { LimiterState, State } from "../playground/calls";
import { pictureOf, pictureText, type Mark, type Picture } from "../playground/limiter";
import { numberText, titleOf } from "../words/limits";

const kWidth = 320;
const kHeight = 90;
const kRows = 10; // leases that are drawn

// `arrived`: performance.now() when the state came.
export function LimiterPictures({ state, arrived }: { state: State; arrived: number }): JSX.Element {
  const readAt = state.now_us ?? 0;
  const now = readAt + useElapsed(arrived) * 1000;
  return (
    <ul class="limiters">
      {(state.limits ?? []).map((limit) => (
        <li key={limit.name} class="card">
          <LimiterPicture state={limit} now={now} readAt={readAt} />
        </li>
      ))}
    </ul>
  );
}

function LimiterPicture({ state, now, readAt }: { state: LimiterState; now: number; readAt: number }): JSX.Element {
  const picture = pictureOf(state, now, readAt);
  return (
    <figure>
      <figcaption>
        <strong>{state.name}</strong> <span class="quiet">{titleOf(state.algorithm)}</span>
        {state.overridden && <span class="badge warn">override</span>}
      </figcaption>
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} class={`limiter ${picture.kind}`} aria-hidden="true" focusable="false">
        <Drawing picture={picture} now={now} />
      </svg>
      <p class="tabular">{pictureText(state, picture, now)}</p>
    </figure>
  );
}

function Drawing({ picture, now }: { picture: Picture; now: number }): JSX.Element {
  switch (picture.kind) {
    case "bucket":
      return <Bucket left={picture.left} limit={picture.limit} />;
    case "window":
      return (
        <>
          <Column x={0} width={kWidth} count={picture.count} limit={picture.limit} />
          <line class="now" x1={picture.into * kWidth} x2={picture.into * kWidth} y1={0} y2={kHeight} />
        </>
      );
    case "sliding":
      return <Sliding {...picture} />;
    case "log":
      return <Log entries={picture.entries} windowUs={picture.windowUs} limit={picture.limit} now={now} />;
    case "leases":
      return <Leases leases={picture.leases} ttlUs={picture.ttlUs} now={now} />;
  }
}

const share = (part: number, whole: number): number => (whole <= 0 ? 0 : Math.min(1, Math.max(0, part / whole)));

function Bucket({ left, limit }: { left: number; limit: number }): JSX.Element {
  const level = share(left, limit) * (kHeight - 4);
  return (
    <>
      <rect class="fill" x={100} width={120} y={kHeight - 2 - level} height={level} />
      <path class="wall" d={`M100 2 V${kHeight - 2} H220 V2`} />
    </>
  );
}

function Column({ x, width, count, limit, faded = 1 }: { x: number; width: number; count: number; limit: number; faded?: number }): JSX.Element {
  const height = share(count, limit) * kHeight;
  return (
    <>
      <rect class="room" x={x + 1} width={width - 2} y={0} height={kHeight} />
      <rect class={count >= limit ? "fill full" : "fill"} x={x + 1} width={width - 2} y={kHeight - height} height={height} opacity={faded} />
    </>
  );
}

// The window that counts covers the end of the one before, and this one until now.
function Sliding({ previous, count, limit, into }: { previous: number; count: number; limit: number; into: number }): JSX.Element {
  const half = kWidth / 2;
  return (
    <>
      <Column x={0} width={half} count={previous} limit={limit} faded={0.25 + 0.75 * (1 - into)} />
      <Column x={half} width={half} count={count} limit={limit} />
      <rect class="frame-now" x={Math.max(1, into * half)} width={half - 2} y={1} height={kHeight - 2} />
    </>
  );
}

function Log({ entries, windowUs, limit, now }: { entries: readonly Mark[]; windowUs: number; limit: number; now: number }): JSX.Element {
  return (
    <>
      <rect class="room" x={0} width={kWidth} y={0} height={kHeight} />
      {entries.map(([at, units], index) => {
        const height = Math.max(6, share(units, limit) * kHeight);
        return (
          <rect
            key={`${at}.${index}`}
            class="fill"
            x={Math.min(kWidth - 3, Math.max(0, kWidth - 3 - ((now - at) / windowUs) * (kWidth - 3)))}
            width={3}
            y={kHeight - height}
            height={height}
          />
        );
      })}
    </>
  );
}

function Leases({ leases, ttlUs, now }: { leases: readonly Mark[]; ttlUs: number; now: number }): JSX.Element {
  const row = kHeight / kRows;
  return (
    <>
      <rect class="room" x={0} width={kWidth} y={0} height={kHeight} />
      {leases.slice(0, kRows).map(([expires], index) => (
        <rect key={`${expires}.${index}`} class="fill" x={0} width={share(expires - now, ttlUs) * kWidth} y={index * row + 1} height={row - 2} />
      ))}
      {leases.length > kRows && (
        <text x={kWidth - 4} y={kHeight - 4} text-anchor="end">
          {`${numberText(leases.length - kRows)} more`}
        </text>
      )}
    </>
  );
}

const kStillMs = 1000; // for readers who want less motion

// ms since `from`, for each frame.
function useElapsed(from: number): number {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let frame = 0;
    let timer = 0;
    const tick = (): void => {
      setNow(performance.now());
      if (still) timer = window.setTimeout(tick, kStillMs);
      else frame = requestAnimationFrame(tick);
    };
    tick();
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [from]);
  return Math.max(0, now - from);
}
