// A real OpenID provider (npm's oidc-provider) for tests: node provider.mjs SETTINGS.json
//
// Anybody signs in with any password; whose groups, name and e-mail address these are stands in `accounts`. Each start
// makes new keys, as a provider that rotates them does.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { Provider } = await import(pathToFileURL(createRequire(`${settings.packages}/`).resolve("oidc-provider")).href);

function key(type, options, algorithm) {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: algorithm };
}

const client = {
  client_id: "sluice",
  redirect_uris: settings.redirect_uris,
  response_types: ["code"],
  grant_types: ["authorization_code"],
  id_token_signed_response_alg: settings.algorithm,
  ...(settings.secret
    ? { client_secret: settings.secret, token_endpoint_auth_method: settings.secret_in_body ? "client_secret_post" : "client_secret_basic" }
    : { token_endpoint_auth_method: "none" }),
};

const provider = new Provider(settings.issuer, {
  clients: [client],
  clientAuthMethods: settings.secret_in_body ? ["client_secret_post", "none"] : ["client_secret_basic", "none"],
  jwks: { keys: [key("rsa", { modulusLength: 2048 }, "RS256"), key("ec", { namedCurve: "P-256" }, "ES256")] },
  cookies: { keys: [randomUUID()] },
  claims: { openid: ["sub"], profile: ["name", "groups"], email: ["email"] },
  // Whoever asks for an access token too would get these claims only with it.
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...settings.accounts[id] }) }),
  // Nobody is asked for consent.
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
  ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
});

const tls = { key: readFileSync(settings.key), cert: readFileSync(settings.certificate) };
createServer(tls, provider.callback()).listen(settings.port, "127.0.0.1", () => console.log("listening"));
