#include "server/oidc/service.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <boost/asio/post.hpp>

#include "common/base/percent_encoding.hpp"
#include "common/http/query.hpp"
#include "common/json/writer.hpp"
#include "server/http/field_list.hpp"
#include "server/http/headers.hpp"
#include "server/oidc/attempt.hpp"
#include "server/oidc/id_token.hpp"
#include "server/oidc/requests.hpp"
#include "server/postgres/failure.hpp"
#include "server/sessions/cookie.hpp"

namespace sluice::server::oidc {
namespace {

constexpr std::string_view kWays = "/v1/console/sign-in";
constexpr std::string_view kStart = "/v1/console/oidc/start";
constexpr std::size_t kMaxCodeBytes = 2'048;
constexpr int kAttempts = 4;  // of a transaction

bool is_path(std::string_view path) { return path == kWays || path == kStart || path == kCallbackPath; }

// A navigation of a browser, which a person looks at.
bool takes_html(std::string_view accept) {
  while (!accept.empty()) {
    std::string_view item = http::cut(accept, ',');
    if (http::same_word(http::cut(item, ';'), "text/html")) return true;
  }
  return false;
}

// A name that is given twice, or not at all, has no value.
std::string only(const sluice::http::Parameters& parameters, std::string_view name) {
  std::string found;
  std::size_t count = 0;
  for (const auto& each : parameters) {
    if (each.name != name) continue;
    found = each.value;
    ++count;
  }
  return count == 1 ? found : std::string();
}

http::Refusal not_begun() {
  return {400, "sign-in",
          "This browser has begun no such sign-in, began it more than 10 minutes ago, or began another one since: sign "
          "in again, and let the browser keep cookies."};
}

http::Refusal refused_because(std::string detail) { return {403, "sign-in-refused", std::move(detail)}; }

http::Refusal unmapped(const Identity& identity, const Setup& setup) {
  if (!identity.has_groups_claim) {
    return refused_because(fmt::format(
        "You are known to the provider, but its ID token names no groups (claim {}). Whoever runs this server lets the "
        "provider put them there, or corrects --oidc-groups-claim or --oidc-scopes.",
        setup.groups_claim));
  }
  return refused_because(
      "You are known to the provider, but none of your groups may use this server. Ask a platform_admin to make a "
      "group "
      "mapping for one of them.");
}

http::Refusal unavailable(std::string detail) {
  return {503, "unavailable", std::move(detail), {}, "Retry-After: 1\r\n"};
}

}  // namespace

// One request, from its arrival to its answer.
struct SignInService::Visit {
  explicit Visit(sluice::http::Reply its_reply) : reply(std::move(its_reply)) {}

  sluice::http::Reply reply;
  std::string request_id;
  std::string source;
  bool html = false;
  bool counts = false;  // in running_
  std::string cookies;  // lines that the answer has in any case
  Attempt attempt = {};
  ProviderPtr provider = nullptr;
  Identity identity = {};
};

SignInService::SignInService(Parts parts, const Setup* setup, sessions::Site site)
    : parts_(std::move(parts)),
      setup_(setup),
      site_(std::move(site)),
      provider_(setup == nullptr ? nullptr : std::make_unique<ProviderClient>(parts_.loop, *setup, parts_.log)) {}

SignInService::~SignInService() = default;

std::size_t SignInService::body_limit(std::string_view, std::string_view) const { return kUnaskedBody; }

bool SignInService::answers(std::string_view method, std::string_view path) const {
  return is_path(path) && (method == "GET" || method == "HEAD");
}

void SignInService::handle(sluice::http::Request& request, sluice::http::Reply reply) {
  const auto visit = std::make_shared<Visit>(std::move(reply));
  visit->request_id = http::request_id_of(request.header("x-request-id"));
  visit->source = request.peer;
  visit->html = takes_html(request.header("accept"));
  try {
    answer(visit, request);
  } catch (const http::Refusal& refusal) {
    send(visit, http::problem(refusal, visit->request_id));
  }
}

void SignInService::answer(const VisitPtr& visit, const sluice::http::Request& request) {
  if (!is_path(request.path)) {
    throw http::Refusal(404, "not-found", "There is no such path; /openapi.json lists all of them.");
  }
  // HEAD of the list only: the others begin something.
  if (request.method != "GET" && (request.method != "HEAD" || request.path != kWays)) {
    const std::string_view allowed = request.path == kWays ? "GET, HEAD" : "GET";
    throw http::Refusal(405, "method-not-allowed", fmt::format("This path accepts only {}.", allowed), {},
                        fmt::format("Allow: {}\r\n", allowed));
  }
  if (request.path == kWays) return list_ways(visit);
  if (setup_ == nullptr) {
    throw http::Refusal(404, "not-found",
                        "This server was started without --oidc-issuer: sign in with an admin token, by POST "
                        "/v1/admin/session.");
  }
  if (request.path == kStart) return start(visit, request.query);
  call_back(visit, request);
}

void SignInService::list_ways(const VisitPtr& visit) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("token", true);
  if (setup_ == nullptr) {
    out.null_field("oidc");
  } else {
    out.key("oidc");
    out.begin_object();
    out.field("name", setup_->name);
    out.field("start", kStart);
    out.end_object();
  }
  out.end_object();
  http::Answer answer;
  answer.body = out.take();
  send(visit, answer);
}

void SignInService::start(const VisitPtr& visit, std::string_view query) {
  const auto parameters = sluice::http::parse_query(query);
  if (!parameters) throw http::Refusal(400, "invalid", parameters.error().text);
  Faults faults;
  for (const auto& each : *parameters) {
    if (each.name != "return_to") faults.push_back({"?" + each.name, "there is no such parameter; there is return_to"});
  }
  std::string target = parameters->empty() ? "/" : only(*parameters, "return_to");
  if (faults.empty() && !may_return_to(target, parts_.is_view)) {
    faults.push_back(
        {"?return_to", fmt::format("must be given once, and be the path of a view of the console, such as /policies, "
                                   "with its query, of at most {} bytes",
                                   kMaxReturnBytes)});
  }
  if (!faults.empty()) http::refuse_faults(400, std::move(faults));
  visit->attempt = begin_attempt(std::move(target), parts_.clock.now_us());
  provider_->find([this, visit](Result<ProviderPtr> provider) {
    if (!provider) return refuse_for_provider(visit, provider.error());
    http::Answer answer;
    answer.status = 303;
    answer.headers = fmt::format("Location: {}\r\nReferrer-Policy: no-referrer\r\n{}",
                                 authorization_url(**provider, *setup_, visit->attempt),
                                 attempt_cookie(visit->attempt, site_.secure));
    send(visit, answer);
  });
}

void SignInService::call_back(const VisitPtr& visit, const sluice::http::Request& request) {
  const std::int64_t now_us = parts_.clock.now_us();
  const auto parameters = sluice::http::parse_query(request.query);
  const std::string state = parameters ? only(*parameters, "state") : std::string();
  auto attempt = find_attempt(request.header("cookie"), state, site_.secure, now_us);
  // Without its cookie, the callback may be somebody else's sign-in, which another site made this browser finish. It
  // must not end the one that this browser has begun.
  if (!attempt) return refuse(visit, "expired", not_begun());
  visit->attempt = *std::move(attempt);
  visit->cookies = clear_attempt_cookie(site_.secure);
  if (!only(*parameters, "error").empty()) {
    return refuse(visit, "denied", refused_because("The provider did not sign you in, or you did not consent."));
  }
  const std::string code = only(*parameters, "code");
  if (code.empty() || code.size() > kMaxCodeBytes) return refuse(visit, "expired", not_begun());
  if (!take_place(visit)) {
    return refuse(visit, "busy", unavailable("Too many people sign in at this moment: try again."));
  }
  provider_->find([this, visit, code, issuer = only(*parameters, "iss")](Result<ProviderPtr> provider) {
    if (!provider) return refuse_for_provider(visit, provider.error());
    visit->provider = *std::move(provider);
    // RFC 9207: the answer is of another provider than the one that was asked.
    const bool named = !issuer.empty() || visit->provider->names_issuer_in_answer;
    if (named && issuer != visit->provider->issuer) {
      return refuse(visit, "refused",
                    refused_because("The answer is of another provider than the one that was asked (iss)."));
    }
    exchange(visit, code);
  });
}

bool SignInService::take_place(const VisitPtr& visit) {
  const auto found = running_of_source_.find(visit->source);
  const std::size_t most = parts_.throttle.is_suspect(visit->source, parts_.clock.now_us()) ? 1 : kMostOfSource;
  const bool full = found != running_of_source_.end() && found->second >= most;
  if (full || running_ >= kMostAtOnce) return false;
  ++running_;
  ++running_of_source_[visit->source];
  visit->counts = true;
  return true;
}

void SignInService::leave_place(const VisitPtr& visit) {
  if (!std::exchange(visit->counts, false)) return;
  --running_;
  const auto found = running_of_source_.find(visit->source);
  if (--found->second == 0) running_of_source_.erase(found);
}

void SignInService::exchange(const VisitPtr& visit, const std::string& code) {
  provider_->exchange(visit->provider, visit->attempt, code, [this, visit](Result<std::string> token) {
    if (!token) return refuse_for_provider(visit, token.error());
    check(visit, *token, false);
  });
}

// With keys that lack the one that signed, once more with keys that were read now.
void SignInService::check(const VisitPtr& visit, const std::string& token, bool fresh_keys) {
  provider_->find_keys(visit->provider, fresh_keys, [this, visit, token, fresh_keys](Result<KeySetPtr> keys) {
    if (!keys) return refuse_for_provider(visit, keys.error());
    Result<Identity> identity = check_id_token(token, **keys,
                                               {.issuer = visit->provider->issuer,
                                                .client_id = setup_->client_id,
                                                .nonce = visit->attempt.nonce(),
                                                .groups_claim = setup_->groups_claim,
                                                .now_us = parts_.clock.now_us()});
    if (!identity && identity.error().code == "unknown_key" && !fresh_keys) return check(visit, token, true);
    if (!identity) return refuse_for_provider(visit, identity.error());
    store(visit, *std::move(identity));
  });
}

void SignInService::store(const VisitPtr& visit, Identity identity) {
  visit->identity = std::move(identity);
  // The job owns copies only: what belongs to the loop stays there.
  const SignIn wanted{.identity = visit->identity,
                      .state = visit->attempt.state(),
                      .source = visit->source,
                      .request_id = visit->request_id};
  auto done = [this, visit](std::optional<SignedIn> result) { finish(visit, std::move(result)); };
  postgres::Pool::Job job([this, wanted, done](postgres::Session& session) mutable {
    std::optional<SignedIn> result;
    for (int attempt = 1; attempt <= kAttempts && !result; ++attempt) {
      pqxx::connection* const connection = session.connection();
      if (connection == nullptr) break;
      try {
        result = sign_in(*connection, wanted, parts_.clock.now_us());
      } catch (const std::exception& error) {
        const postgres::FailureClass failure = postgres::classify(error);
        parts_.pool.count_failure(failure);
        if (failure == postgres::FailureClass::away) session.drop();
        // `referenced`: the mapping was deleted meanwhile, so the next attempt finds another one or none.
        if (failure != postgres::FailureClass::conflict && failure != postgres::FailureClass::away &&
            failure != postgres::FailureClass::referenced) {
          parts_.log.write(
              telemetry::LogLevel::warn, "database_failure", "A sign-in could not be completed.",
              {{"class", to_string(failure)}, {"error", postgres::describe(error)}, {"request_id", wanted.request_id}});
          break;
        }
      }
    }
    boost::asio::post(parts_.loop, [done = std::move(done), result = std::move(result)] { done(result); });
  });
  if (!parts_.pool.submit(job)) finish(visit, std::nullopt);
}

void SignInService::finish(const VisitPtr& visit, std::optional<SignedIn> done) {
  if (!done) {
    statistics_.failed.fetch_add(1, std::memory_order_relaxed);
    return refuse(visit, "database",
                  unavailable("PostgreSQL cannot be reached or did not answer in time; nobody was signed in."));
  }
  if (done->outcome == SignedIn::Outcome::used) return refuse(visit, "expired", not_begun());
  if (done->outcome == SignedIn::Outcome::unmapped) {
    statistics_.refused.fetch_add(1, std::memory_order_relaxed);
    return refuse_person(visit, visit->identity.has_groups_claim ? "unmapped" : "no-groups",
                         unmapped(visit->identity, *setup_));
  }
  statistics_.signed_in.fetch_add(1, std::memory_order_relaxed);
  http::Answer answer;
  answer.status = 303;
  answer.headers = fmt::format("Location: {}\r\nReferrer-Policy: no-referrer\r\n{}", visit->attempt.return_to,
                               sessions::set_cookie(done->secret, site_.secure));
  send(visit, answer);
}

void SignInService::refuse_for_provider(const VisitPtr& visit, const Error& error) {
  constexpr std::array<std::string_view, 6> kRefusals{"rejected",    "malformed", "algorithm",
                                                      "unknown_key", "signature", "claims"};
  if (std::ranges::find(kRefusals, error.code) == kRefusals.end()) {
    statistics_.failed.fetch_add(1, std::memory_order_relaxed);
    return refuse(visit, "provider",
                  {503,
                   "provider-unavailable",
                   fmt::format("The OpenID provider gives no usable answer ({}), so nobody can sign in by it now. Try "
                               "again, or sign in with an admin token. The server's log says more.",
                               error.code),
                   {},
                   "Retry-After: 1\r\n"});
  }
  statistics_.refused.fetch_add(1, std::memory_order_relaxed);
  parts_.log.warn("oidc_sign_in_refused", "A sign-in by OpenID Connect was refused.",
                  {{"code", error.code}, {"reason", error.text}, {"request_id", visit->request_id}});
  refuse_person(visit, "refused",
                refused_because(fmt::format(
                    "What the OpenID provider answered is not accepted ({}). Sign in again; the server's log "
                    "has the reason under the request id.",
                    error.code)));
}

// Counts as a failed authentication.
void SignInService::refuse_person(const VisitPtr& visit, std::string_view code, http::Refusal refusal) {
  const auto wait = parts_.throttle.failed(visit->source, parts_.clock.now_us());
  if (wait.count() > 0) return refuse(visit, "busy", http::too_many_failures(wait));
  refuse(visit, code, std::move(refusal));
}

void SignInService::refuse(const VisitPtr& visit, std::string_view code, http::Refusal refusal) {
  if (!visit->html) return send(visit, http::problem(refusal, visit->request_id));
  http::Answer answer;
  answer.status = 303;
  answer.headers = fmt::format("Location: /?sign_in={}&request_id={}\r\nReferrer-Policy: no-referrer\r\n", code,
                               percent_encode(visit->request_id));
  send(visit, answer);
}

void SignInService::send(const VisitPtr& visit, const http::Answer& answer) {
  leave_place(visit);
  const std::string headers = http::answer_headers(answer.headers + visit->cookies, visit->request_id);
  visit->reply.send(
      {.status = answer.status, .content_type = answer.content_type, .headers = headers, .body = answer.body});
}

}  // namespace sluice::server::oidc
