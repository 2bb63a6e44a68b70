// The check as a program makes it. Whatever a subject has in it, the text stays one value.
import type { Check } from "./calls";

export const kLanguages = ["curl", "Python", "TypeScript"] as const;
export type Language = (typeof kLanguages)[number];

export function snippet(language: Language, check: Check): string {
  const json = JSON.stringify(check);
  switch (language) {
    case "curl":
      return `curl -i -X POST "\${AGENT:-http://127.0.0.1:8088}/v1/check" \\
  -H "x-api-key: $KEY" -H 'content-type: application/json' \\
  --data-raw ${shellQuoted(json)}
`;
    case "Python":
      return `import json, os, urllib.error, urllib.request

check = ${asciiOnly(json)}
request = urllib.request.Request(
    os.environ.get("AGENT", "http://127.0.0.1:8088") + "/v1/check", json.dumps(check).encode(),
    {"x-api-key": os.environ["KEY"], "content-type": "application/json"})
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as denied:  # 429
    answer = denied
print(answer.status, dict(answer.headers), json.load(answer))
`;
    case "TypeScript":
      return `const check = ${asciiOnly(json)};
const answer = await fetch(\`\${process.env.AGENT ?? "http://127.0.0.1:8088"}/v1/check\`, {
  method: "POST",
  headers: { "x-api-key": process.env.KEY ?? "", "content-type": "application/json" },
  body: JSON.stringify(check),
});
console.log(answer.status, Object.fromEntries(answer.headers), await answer.json());
`;
  }
}

// Nothing has a meaning for the shell between single quotes.
const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

// A JSON text of texts and numbers is a literal of Python and TypeScript too. Escapes keep what editors and terminals
// show as something else, such as marks that turn the direction of writing.
const asciiOnly = (json: string): string =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
