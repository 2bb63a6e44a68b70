#include "agent/grpc/authorization_service.hpp"

#include <array>
#include <new>
#include <optional>
#include <utility>

#include "agent/api/refusals.hpp"
#include "agent/grpc/authz_check.hpp"
#include "agent/grpc/decisions_service.hpp"
#include "common/http/problem.hpp"
#include "common/http/request_id.hpp"
#include "engine/decide/check.hpp"

namespace sluice::agent::rpc {
namespace {

constexpr auto kAuthorizationMethods = std::to_array<grpc::Method>({{.name = "Check", .max_message = kMaxAuthzBytes}});

grpc::Code code_of(const Decision& decision) {
  return status_of(decision) == 429 ? grpc::Code::resource_exhausted : grpc::Code::unavailable;
}

}  // namespace

// One call.
class AuthorizationService::Single final : public decide::CheckListener, private grpc::CallListener {
 public:
  explicit Single(AuthorizationService& service) : service_(service), check_(service.parts_.decider) {}

  void start(std::string_view message, const api::Peer& peer, grpc::Reply reply, decide::InFlight::Place place,
             decide::Caller caller) {
    reply_.emplace(std::move(reply));
    caller_ = std::move(caller);
    try {
      read_and_start(message, peer, std::move(place));
    } catch (const std::bad_alloc&) {
      service_.parts_.decider.count_overload();
      refuse_without_memory();
    }
  }

  void decided(std::size_t, const Decision& decision) override {
    std::array<std::string_view, kCredentialHeaders> credentials;
    service_.answer(*reply_, decision, form_of(decision), credential_headers(message_, credentials));
    return_to_pool();
  }
  void refused(std::size_t, const decide::Refusal& refusal) override {
    if (refusal.kind == decide::Refusal::Kind::out_of_memory) return refuse_without_memory();
    service_.refuse(*reply_, refused_for(refusal));
    return_to_pool();
  }
  bool wait_begins(std::size_t) override { return reply_->listen(*this); }

 private:
  void on_over() override { check_.abandon(); }

  void read_and_start(std::string_view message, const api::Peer& peer, decide::InFlight::Place place) {
    if (!read_authz_message(message, message_)) {
      place.leave();
      service_.statuses_.refuse(*reply_, unreadable("envoy.service.auth.v3.CheckRequest"));
      return return_to_pool();
    }
    read_trace();
    read_authz_check(*service_.parts_.authz, peer, message_, text_, request_);
    if (const std::string_view id = message_.header(http::kRequestIdField); http::is_request_id(id)) {
      request_.request_id = id;
    }
    check_.start(std::move(place), caller_, caller_.origin(), request_, {traceparent_, &reply_->span()}, *this);
  }

  // As text an admission has no body, and Envoy takes none.
  api::DecisionForm form_of(const Decision& decision) {
    return {.as_text = decision.allowed || api::wants_text(message_.header("accept")), .for_clients = true};
  }

  // An Envoy that traces puts its own span into the metadata. Otherwise the request's headers have the client's.
  void read_trace() {
    traceparent_ = reply_->metadata("traceparent");
    if (!traceparent_.empty()) return;
    traceparent_ = message_.header("traceparent");
    if (!traceparent_.empty()) reply_->trace_below(traceparent_, message_.header("tracestate"));
  }

  void refuse_without_memory() {
    reply_->finish(kNoMemory);
    return_to_pool();
  }
  void return_to_pool() {
    reply_.reset();
    caller_ = {};
    message_.clear();
    service_.singles_.give_back(*this);
  }

  AuthorizationService& service_;
  std::optional<grpc::Reply> reply_;
  decide::Caller caller_;
  std::string traceparent_;
  AuthzMessage message_;  // points into the bytes that the reply keeps
  std::string text_;      // request_ points into it
  CheckRequest request_;
  decide::Check check_;
};

AuthorizationService::AuthorizationService(const ServiceParts& parts)
    : parts_(parts),
      writer_(parts.headers),
      statuses_(parts.refusals),
      peer_(api::find_peer({}, parts.authz->proxies)) {}

AuthorizationService::~AuthorizationService() = default;

std::span<const grpc::Method> AuthorizationService::method_table() { return kAuthorizationMethods; }

// As over HTTP, the key of --authz-key-file stands in for that of a trusted proxy. A header of the proxy's client is
// never a credential.
void AuthorizationService::handle(std::size_t, std::span<char> message, grpc::Reply reply) {
  auto place = parts_.decider.admit();
  if (!place) return answer(reply, place.error(), {.as_text = place.error().allowed, .for_clients = true}, {});
  const api::Peer& peer = find_peer(reply.peer());
  const bool has_key = peer.trusted && !parts_.authz_key->empty();
  auto caller = parts_.decider.authenticate(has_key ? std::string_view(*parts_.authz_key) : api_key_of(reply));
  if (!caller) {
    place->leave();
    return refuse(reply, refused_for(caller.error()));
  }
  singles_.take(*this).start({message.data(), message.size()}, peer, std::move(reply), *std::move(place),
                             *std::move(caller));
}

const api::Peer& AuthorizationService::find_peer(std::string_view text) {
  if (text != peer_text_) {
    std::string kept(text);  // both or neither, also if an allocation fails
    peer_ = api::find_peer(text, parts_.authz->proxies);
    peer_text_.swap(kept);
  }
  return peer_;
}

void AuthorizationService::answer(grpc::Reply& reply, const Decision& decision, api::DecisionForm form,
                                  std::span<const std::string_view> remove) {
  out_.clear();
  if (decision.allowed) {
    write_authz_allowed(decision, parts_.headers, remove, out_);
  } else {
    write_authz_denied(code_of(decision), writer_.write(decision, form), &decision, out_);
  }
  reply.finish(out_);
}

// A refusal for which the agent is to blame fails the call, so that Envoy's failure mode decides. Others are faults of
// the configuration, or of what a client has sent.
void AuthorizationService::refuse(grpc::Reply& reply, const Refused& refused) {
  if (refused.problem.status >= 500) return statuses_.refuse(reply, refused);
  const http::Problem problem = refused.problem.problem();
  api::count_refusal(parts_.refusals, problem);
  std::string body;
  http::write_problem(problem, body);
  out_.clear();
  write_authz_denied(refused.code, {.status = problem.status, .content_type = http::kProblemType, .body = body},
                     nullptr, out_);
  reply.finish(out_);
}

}  // namespace sluice::agent::rpc
