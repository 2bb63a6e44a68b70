import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, errorOf, sessionEnded } from "../api/client";
import { signIn } from "../session";
import { Code, Failure } from "../ui/parts";

export function SignIn(): JSX.Element {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await signIn(token);
    } catch (failure) {
      setError(errorOf(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Sluice</h1>
        {sessionEnded.value && <p class="notice">Your session has ended. Sign in again to go on where you were.</p>}
        <label class="field">
          Admin token
          <input
            type="password"
            value={token}
            placeholder="sla_…"
            autocomplete="off"
            spellcheck={false}
            required
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {error && <Failure error={error} />}
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "Signing in …" : "Sign in"}
        </button>
        <details>
          <summary>Where is my token?</summary>
          <p>
            <code>scripts/up</code> writes it to <code>.run/env</code>. Anywhere else, whoever installed the server made the first
            one:
          </p>
          <Code text="sluice-server bootstrap --database-url postgresql://ROLE@HOST/NAME" />
        </details>
      </form>
    </main>
  );
}
