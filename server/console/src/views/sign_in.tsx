import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { sessionEnded } from "../api/client";
import { failedSignIn, providerOf, signIn, signInByProvider } from "../session";
import { useAction } from "../ui/action";
import { Code, Failure } from "../ui/parts";
import { reasonOf } from "../words/sign_in";

const kAskEvery = 2_000; // ms, while the server does not answer

export function SignIn(): JSX.Element {
  const [token, setToken] = useState("");
  const signingIn = useAction();
  const submit = (event: Event): void => {
    event.preventDefault();
    void signingIn.run(() => signIn(token));
  };
  const provider = useProvider();
  const failed = failedSignIn.value;
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <h1>Sluice</h1>
        {sessionEnded.value && <p class="notice">Your session has ended. Sign in again to go on where you were.</p>}
        {failed && (
          <div class="failure" role="alert">
            <div>
              <p>{reasonOf(failed.code)}</p>
              {failed.requestId !== "" && (
                <p class="quiet">
                  Request <code>{failed.requestId}</code>
                </p>
              )}
            </div>
          </div>
        )}
        {provider && (
          <>
            <button type="button" class="primary" onClick={() => signInByProvider(provider.start)}>
              Sign in with {provider.name}
            </button>
            <p class="quiet">or</p>
          </>
        )}
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
        <button type="submit" class={provider ? "" : "primary"} disabled={signingIn.busy}>
          {signingIn.busy ? "Signing in …" : provider ? "Sign in with the token" : "Sign in"}
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

// What the server offers beside tokens. While it does not answer, there is nothing to offer; tokens have the same fate.
function useProvider(): Awaited<ReturnType<typeof providerOf>> {
  const [provider, setProvider] = useState<Awaited<ReturnType<typeof providerOf>>>(null);
  useEffect(() => {
    let shown = true;
    const ask = (): void => {
      providerOf().then(
        (found) => shown && setProvider(found),
        () => shown && setTimeout(ask, kAskEvery),
      );
    };
    ask();
    return () => {
      shown = false;
    };
  }, []);
  return provider;
}
