#include "common/http/problem_table.hpp"

#include <algorithm>
#include <array>

namespace sluice::http {
namespace {

using enum AnsweredBy;

constexpr std::array kTable{
    ProblemKind{400, "/problems/framing", both, "The HTTP framing is ambiguous or broken. The connection is closed.",
                "Use an HTTP library; check proxies in between."},
    ProblemKind{400, "/problems/tls-required", both, "A request without TLS came to a port that has TLS.",
                "Use https://."},
    ProblemKind{400, "/problems/invalid", both,
                "The body or the query is invalid: not JSON, not UTF-8, an unknown or duplicate field, a wrong type.",
                "Correct the fields that `errors` names."},
    ProblemKind{
        400, "/problems/sign-in", server,
        "A sign-in by OpenID Connect ends in another browser than it began in, after more than 10 minutes, or a "
        "second time.",
        "Sign in again from the console's first page."},
    ProblemKind{401, "/problems/unauthorized", both,
                "The API key or the token is missing, malformed, unknown, expired or revoked, or of the wrong kind.",
                "To an agent, send a valid API key as `x-api-key`. To a server, send `Authorization: Bearer` with a "
                "valid admin token, or agent token for `/v1/sync`. If a session of the console has ended, sign in "
                "again."},
    ProblemKind{403, "/problems/forbidden", server, "The token's role or scope does not allow this call.",
                "Use a token whose role has the permission that `detail` names."},
    ProblemKind{
        403, "/problems/cross-site", server,
        "A page of another site made the call, with the session of somebody who is signed in to the console.",
        "Call from the console, or send an admin token as `Authorization: Bearer`. Where a proxy changes `Host`, "
        "start the server with `--console-url`."},
    ProblemKind{403, "/problems/csrf-token", server,
                "A call with a session that may change something has no CSRF token, or a wrong one.",
                "Send the `csrf_token` of `GET /v1/admin/session` in the header `X-CSRF-Token`."},
    ProblemKind{403, "/problems/may-not-override", agent,
                "A check brings a limit (`limit_override`), but its API key may not.",
                "Leave `limit_override` out, or use an API key with `may_override`."},
    ProblemKind{403, "/problems/sign-in-refused", server,
                "Nobody was signed in: the OpenID provider refused, its answer is not accepted, or no group of the "
                "person has a mapping.",
                "`detail` says which. Make a group mapping, or correct the client at the provider."},
    ProblemKind{403, "/problems/unbound", server, "An agent's service account has no binding.",
                "Make the binding that `detail` shows."},
    ProblemKind{403, "/problems/agent-too-old", server,
                "The server gives agents Redis users that call functions, which this agent's release cannot do.",
                "Upgrade the agent."},
    ProblemKind{404, "/problems/not-found", both,
                "There is no such path or object, or it is outside the scope of the key or token.",
                "Check the path, the id and `tenant_id`. `/openapi.json` lists the paths."},
    ProblemKind{404, "/problems/no-counters-login", server, "The server has no Redis login for agents.",
                "Set `--agents-redis-password-file` or `--redis-users per-scope` on the server, or the login on the "
                "agent."},
    ProblemKind{404, "/problems/unknown-lease", agent, "The API key's tenant has no such lease.",
                "Release a lease with an API key of the tenant that took it."},
    ProblemKind{404, "/problems/unknown-plan", agent,
                "The API key's tenant has no plan with this `plan_id`, or does not let checks choose a plan "
                "(`plan_calls`).",
                "Check `plan_id`, or leave it out so that policies are matched."},
    ProblemKind{405, "/problems/method-not-allowed", both, "The path does not accept this method.",
                "Use a method that `Allow` names."},
    ProblemKind{408, "/problems/timeout", both, "The request took too long to arrive.", "Send it again, faster."},
    ProblemKind{409, "/problems/exists", server,
                "There is already an object with this id, a plan or policy with this name in the tenant, an override "
                "for this limit and identity, a binding of this service account, or a mapping of this group.",
                "Change the existing one, or choose another id or name."},
    ProblemKind{409, "/problems/last-admin", server,
                "This is the last token that may create tokens, so it cannot be deleted.",
                "Create another such token first."},
    ProblemKind{409, "/problems/concurrent-change", server,
                "Other calls kept changing the same objects. Nothing was changed.", "Send the call again."},
    ProblemKind{
        409, "/problems/quota-exceeded", server,
        "The organization or the tenant would hold more than its quota; `errors` names the quota, its limit and "
        "the use.",
        "Delete what is not needed, or ask a platform_admin to raise the quota."},
    ProblemKind{409, "/problems/referenced", server, "Something still refers to the object; `errors` names what.",
                "Change or delete what refers to it first."},
    ProblemKind{410, "/problems/resync", server, "An agent named a revision that is not part of the server's history.",
                "The agent fetches a full snapshot by itself."},
    ProblemKind{411, "/problems/length-required", both, "The request has a body without a length.",
                "Send `Content-Length`, or the chunked coding."},
    ProblemKind{412, "/problems/precondition-failed", server,
                "`If-Match` or `If-None-Match` does not hold: the object has another version, or exists.",
                "Read the object again and repeat the change on that version."},
    ProblemKind{413, "/problems/body-too-large", both,
                "The body, or one check of a batch, is too large, or needs more memory than one request gets; `detail` "
                "gives the limit.",
                "Send less at a time. For memory: raise the server's `--request-memory`."},
    ProblemKind{415, "/problems/unsupported-media-type", both,
                "The content type of the body is not accepted, or the body has a content coding such as gzip.",
                "Send `application/json` or what `detail` names, without `Content-Encoding`."},
    ProblemKind{
        422, "/problems/invalid", both,
        "A value breaks a rule of its field, or of the whole object. In a check: a value is out of range, a field "
        "follows from the API key, a `key_by` dimension is missing, or a lease id is malformed.",
        "Correct the fields that `errors` names."},
    ProblemKind{422, "/problems/idempotency-key-reused", server,
                "The `Idempotency-Key` was used with another request before.", "Use a new key for each request."},
    ProblemKind{422, "/problems/too-large", server, "The bundle to export would be larger than a bundle may be.",
                "Export one organization or one tenant at a time."},
    ProblemKind{429, "/problems/quota", server,
                "A token, a tenant or an organization has as many agents as it may have; `detail` names the quota and "
                "its use.",
                "Run fewer agents. Those that end, or are silent for 10 minutes, make room."},
    ProblemKind{429, "/problems/too-many-questions", server,
                "Agents are answering another question of what-if of this tenant, or as many as they may at once.",
                "Ask again after `Retry-After`."},
    ProblemKind{429, "/problems/too-many-streams", server,
                "The token, its sessions included, has as many event streams open on this server as it may have.",
                "Close one, or ask again after `Retry-After`."},
    ProblemKind{429, "/problems/rate-limited", server,
                "The token, or the address that uses the playground without one, has made as many calls as the server "
                "allows, or has too many checks in flight; `detail` gives the bound.",
                "Wait for `Retry-After`. The call was not carried out."},
    ProblemKind{429, "/problems/too-many-failures", server,
                "Too many authentications have failed, from this address or in total.",
                "Wait for `Retry-After`. A valid token still works."},
    ProblemKind{431, "/problems/header-too-large", both,
                "The headers are larger than 8 KiB, or there are more than 100.", "Send fewer or shorter headers."},
    ProblemKind{500, "/problems/internal", both, "Something unexpected went wrong: a bug in Sluice.",
                "Report it with the log, which has the request id."},
    ProblemKind{503, "/problems/busy", server,
                "PostgreSQL did not answer in time. Nothing was changed, and this call will change nothing later.",
                "Send the call again."},
    ProblemKind{503, "/problems/counters-unavailable", both, "Redis cannot be reached.",
                "Send the call again later. A lease that cannot be released ends by itself."},
    ProblemKind{503, "/problems/in-doubt", server,
                "PostgreSQL did not confirm the commit, so the change may or may not be stored.",
                "Repeat the call with the same `Idempotency-Key`, or read the object."},
    ProblemKind{503, "/problems/no-counters", server, "The server was started without `--counters`.",
                "Start it with the Redis that agents count in."},
    ProblemKind{503, "/problems/no-playground", server, "The server has no agent for the playground.",
                "Start it with `--playground-agent` and the agent's URL."},
    ProblemKind{503, "/problems/no-policies", agent, "The agent has no policies yet.",
                "Wait for `Retry-After`. If it lasts, `/readyz` and the agent's log say why."},
    ProblemKind{503, "/problems/no-webhooks", server, "The server was started without `--notify-secret-file`.",
                "Start every server with the flag and the same file."},
    ProblemKind{503, "/problems/out-of-memory", both, "The program had no memory left for the request.",
                "Wait for `Retry-After`. Raise the memory limit of the container."},
    ProblemKind{
        503, "/problems/overload", both,
        "Too many calls wait for PostgreSQL, or other requests use the memory that this one needs. On an agent, "
        "for `/json`: too many requests are in flight, or Redis is busy.",
        "Wait for `Retry-After`. Nothing was changed."},
    ProblemKind{503, "/problems/playground-unavailable", server, "The playground's agent did not answer.",
                "Start the agent, or correct `--playground-agent`. The server asks it anew with each check."},
    ProblemKind{503, "/problems/provider-unavailable", server,
                "The OpenID provider of `--oidc-issuer` gives no usable answer.",
                "Sign in with an admin token, or later. The server asks again at each sign-in; its log says why."},
    ProblemKind{503, "/problems/unavailable", server, "PostgreSQL, or the Kubernetes API, cannot be reached.",
                "Wait for `Retry-After`. The server recovers by itself."},
    ProblemKind{505, "/problems/http-version", both, "The request is of another HTTP version than 1.0 and 1.1.",
                "Use HTTP/1.1."},
};
static_assert(std::ranges::is_sorted(kTable, {}, &ProblemKind::status));
static_assert(std::ranges::all_of(kTable, [](const ProblemKind& kind) {
  return kind.type.starts_with(kProblemPath) && kind.type.size() > kProblemPath.size();
}));

}  // namespace

std::span<const ProblemKind> problem_table() { return kTable; }

const ProblemKind* find_problem(unsigned status, std::string_view type) {
  const auto found =
      std::ranges::find_if(kTable, [&](const ProblemKind& kind) { return kind.status == status && kind.type == type; });
  return found == kTable.end() ? nullptr : &*found;
}

}  // namespace sluice::http
