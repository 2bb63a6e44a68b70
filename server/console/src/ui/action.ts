// Something that a person has started: whether it is under way, and why it failed.
import { useState } from "preact/hooks";
import { type ApiError, errorOf } from "../api/client";

export interface Action {
  readonly busy: boolean;
  readonly error: ApiError | null; // of the newest run
  run(act: () => Promise<void>): Promise<boolean>; // false: it failed
}

export function useAction(): Action {
  const [state, setState] = useState<{ busy: boolean; error: ApiError | null }>({ busy: false, error: null });
  const run = async (act: () => Promise<void>): Promise<boolean> => {
    setState({ busy: true, error: null });
    try {
      await act();
      setState({ busy: false, error: null });
      return true;
    } catch (failure) {
      setState({ busy: false, error: errorOf(failure) });
      return false;
    }
  };
  return { ...state, run };
}
