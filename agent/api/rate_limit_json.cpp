#include "agent/api/rate_limit_json.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "agent/api/check_problems.hpp"
#include "agent/rls/admission.hpp"
#include "agent/rls/call.hpp"
#include "agent/rls/json.hpp"
#include "common/json/text.hpp"

namespace sluice::agent::api {
namespace {

using RefusalKind = rls::Refusal::Kind;

struct RefusalRow {
  RefusalKind kind;
  unsigned status;
  std::string_view type;
  std::string_view headers;
};
constexpr std::string_view kRetrySoon = "Retry-After: 1\r\n";
constexpr std::array kRefusalRows{
    RefusalRow{RefusalKind::invalid, 400, kInvalid, ""},
    RefusalRow{RefusalKind::no_config, 503, "/problems/no-policies", kRetrySoon},
    RefusalRow{RefusalKind::overload, 503, "/problems/overload", kRetrySoon},
    RefusalRow{RefusalKind::store_unavailable, 503, "/problems/counters-unavailable", kRetrySoon},
    RefusalRow{RefusalKind::out_of_memory, 503, "/problems/out-of-memory", kRetrySoon},
};

void send_unauthorized(RouteReply& reply, std::string_view detail) {
  send_problem(reply, {.status = 401, .type = kUnauthorized, .detail = detail},
               "WWW-Authenticate: ApiKey realm=\"sluice\"\r\n");
}

}  // namespace

// One request. Owns itself until it is answered.
class RateLimitJson::Single final : public rls::Listener {
 public:
  explicit Single(RateLimitJson& owner) : owner_(owner), call_(owner.service_) {}

  void start(const http::Request& http, RouteReply reply) {
    reply_.emplace(std::move(reply));
    try {
      reply_->keep_request_id(request_id_);
      auto request = rls::read_request({http.body.data(), http.body.size()}, tree_);
      if (!request) {
        owner_.service_.resources().counts.count(RefusalKind::invalid);
        send_problem(*reply_, {.status = 400,
                               .type = kInvalid,
                               .detail = "The body is not a RateLimitRequest.",
                               .errors = request.error()});
        return return_to_pool();
      }
      request_ = *std::move(request);
    } catch (const std::bad_alloc&) {
      owner_.service_.resources().counts.count(RefusalKind::out_of_memory);
      return refused({.kind = RefusalKind::out_of_memory, .text = {}});
    }
    call_.start(request_, *this, reply_->span());
  }

  void answered(const rls::Response& response) override {
    body_.clear();
    rls::write_response(response, body_);
    send_json(*reply_, response.code == rls::Code::ok ? 200 : 429, body_);
    return_to_pool();
  }

  void refused(const rls::Refusal& refusal) override {
    if (refusal.kind == RefusalKind::out_of_memory) {
      reply_->send(http::kNoMemoryResponse);
    } else {
      const RefusalRow& row = *std::ranges::find(kRefusalRows, refusal.kind, &RefusalRow::kind);
      send_problem(*reply_, {.status = row.status, .type = row.type, .detail = refusal.text}, row.headers);
    }
    return_to_pool();
  }

 private:
  void return_to_pool() {
    reply_.reset();
    request_ = {};
    tree_.clear();
    owner_.singles_.give_back(*this);
  }

  RateLimitJson& owner_;
  std::optional<RouteReply> reply_;
  std::string request_id_;
  json::Tree tree_;  // request_ points into it
  rls::Request request_;
  rls::Call call_;
  std::string body_;
};

RateLimitJson::RateLimitJson(rls::Service& service, const decide::Decider& decider, bool callers_have_certificates)
    : service_(service), decider_(decider), callers_have_certificates_(callers_have_certificates) {}

RateLimitJson::~RateLimitJson() = default;

void RateLimitJson::handle(const http::Request& request, RouteReply reply) {
  if (!admit(request, reply)) return;
  singles_.take(*this).start(request, std::move(reply));
}

bool RateLimitJson::admit(const http::Request& request, RouteReply& reply) const {
  const auto refusal =
      rls::refuse_caller(service_, decider_, request.peer, request.header("x-api-key"), callers_have_certificates_);
  if (!refusal) return true;
  if (refusal->credential) {
    send_refusal(reply, problem_of(*refusal->credential));
  } else {
    send_unauthorized(reply, refusal->text);
  }
  return false;
}

std::string RateLimitJson::describe() const {
  const auto& config = service_.in_force().config;
  std::string out = R"({"tenant":)";
  json::append_string(out, service_.options().tenant);
  out += fmt::format(R"(,"decision":"{}")", service_.options().atomic ? "atomic" : "per-descriptor");
  if (config) out += fmt::format(R"(,"domains":{},"limits":{})", config->domains.size(), config->rules);
  out += '}';
  return out;
}

}  // namespace sluice::agent::api
