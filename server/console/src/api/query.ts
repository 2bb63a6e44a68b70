// Data that a view shows: loaded when the view appears, loaded again at an interval and after a failure.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, errorOf } from "./client";

export interface Query<Data> {
  readonly data: Data | undefined; // the newest that has arrived; it stays while newer data is loaded or fails to
  readonly error: ApiError | undefined; // of the newest try
  readonly loading: boolean;
  reload(): void;
}

// `arrived`: for a part of the data, which is shown until the whole is there.
export type Load<Data> = (signal: AbortSignal, arrived: (part: Data) => void) => Promise<Data>;

const kRetryMs = 3_000;

// `key`: loads anew when it changes, and forgets the data of the former key. `everyMs`: 0 loads once.
export function useQuery<Data>(key: string, load: Load<Data>, everyMs = 0): Query<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; error?: ApiError; loading: boolean }>({
    key,
    loading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const again = (ms: number): void => {
      if (ms > 0 && !abort.signal.aborted) timer = window.setTimeout(() => void run(), ms);
    };
    // A list that is on the screen does not shrink to its first page while it is loaded again.
    let whole = state.key === key && state.data !== undefined;
    const arrived = (data: Data): void => {
      if (!whole && !abort.signal.aborted) setState({ key, data, loading: true });
    };
    const run = async (): Promise<void> => {
      setState((old) => (old.key === key ? { ...old, loading: true } : { key, loading: true }));
      try {
        const data = await latest.current(abort.signal, arrived);
        if (abort.signal.aborted) return;
        whole = true;
        setState({ key, data, loading: false });
        again(everyMs);
      } catch (failure) {
        if (abort.signal.aborted) return;
        const error = errorOf(failure);
        setState((old) => ({ ...(old.key === key ? old : { key }), error, loading: false }));
        if (error.status === 0 || error.status >= 500) again(kRetryMs);
      }
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs, round]);

  const current = state.key === key;
  return {
    data: current ? state.data : undefined,
    error: current ? state.error : undefined,
    loading: !current || state.loading,
    reload: () => setRound((each) => each + 1),
  };
}
