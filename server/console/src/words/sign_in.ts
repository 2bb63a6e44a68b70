// Why a sign-in by OpenID Connect came back without a session. The codes are those of server/oidc/service.cpp.
const kReasons: Readonly<Record<string, string>> = {
  expired: "That sign-in took longer than 10 minutes, was used before, or began in another browser. Sign in again.",
  denied: "The provider did not sign you in.",
  refused: "What the provider answered is not accepted. Sign in again; if it happens again, whoever runs this server finds the reason in its log.",
  unmapped: "The provider knows you, but none of your groups may use this server. Ask an administrator to map one of them.",
  "no-groups": "The provider knows you, but does not say which groups you are in. Whoever runs this server can change that at the provider.",
  provider: "The provider does not answer now. Try again later, or sign in with an admin token.",
  database: "The server cannot use PostgreSQL now, so nobody was signed in. Try again.",
  busy: "Too many people sign in at this moment, or too many sign-ins failed. Try again in a minute.",
};

export const reasonOf = (code: string): string => kReasons[code] ?? "Nobody was signed in. Try again.";
