import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { sessionEnded } from "../api/client";
import { signIn } from "../session";
import { useAction } from "../ui/action";
import { Code, Failure } from "../ui/parts";

export function SignIn(): JSX.Element {
  const [token, setToken] = useState("");
  const signingIn = useAction();
  const submit = (event: Event): void => {
    event.preventDefault();
    void signingIn.run(() => signIn(token));
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
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
        {signingIn.error && <Failure error={signingIn.error} />}
        <button type="submit" class="primary" disabled={signingIn.busy}>
          {signingIn.busy ? "Signing in …" : "Sign in"}
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
