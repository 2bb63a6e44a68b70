#include "agent/grpc/rate_limit_service.hpp"

#include <array>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "agent/grpc/decisions_service.hpp"
#include "agent/rls/admission.hpp"
#include "agent/rls/call.hpp"
#include "agent/rls/wire.hpp"

namespace sluice::agent::rpc {
namespace {

constexpr auto kRateLimitMethods =
    std::to_array<grpc::Method>({{.name = "ShouldRateLimit", .max_message = rls::kMaxRequestBytes}});

}  // namespace

// One call. Owns itself until it is answered.
class RateLimitService::Single final : public rls::Listener {
 public:
  explicit Single(RateLimitService& owner) : owner_(owner), call_(*owner.parts_.rate_limits) {}

  void start(std::string_view message, grpc::Reply reply) {
    reply_.emplace(std::move(reply));
    try {
      auto request = rls::decode_request(message, std::move(request_));
      if (!request) return refuse_unread({.kind = rls::Refusal::Kind::invalid, .text = std::move(request).error()});
      request_ = *std::move(request);
    } catch (const std::bad_alloc&) {
      return refuse_unread({.kind = rls::Refusal::Kind::out_of_memory, .text = {}});
    }
    call_.start(request_, *this, reply_->span());
  }

  void answered(const rls::Response& response) override {
    message_.clear();
    rls::encode_response(response, message_);
    reply_->finish(message_);
    return_to_pool();
  }

  void refused(const rls::Refusal& refusal) override {
    switch (refusal.kind) {
      case rls::Refusal::Kind::invalid:
        owner_.statuses_.refuse(*reply_, invalid(refusal.text));
        break;
      case rls::Refusal::Kind::no_config:
      case rls::Refusal::Kind::overload:
      case rls::Refusal::Kind::store_unavailable:
        reply_->finish({grpc::Code::unavailable, refusal.text});
        break;
      case rls::Refusal::Kind::out_of_memory:
        reply_->finish(kNoMemory);
        break;
    }
    return_to_pool();
  }

 private:
  void refuse_unread(const rls::Refusal& refusal) {
    owner_.parts_.rate_limits->resources().counts.count(refusal.kind);
    refused(refusal);
  }
  void return_to_pool() {
    reply_.reset();
    request_.clear();
    owner_.singles_.give_back(*this);
  }

  RateLimitService& owner_;
  std::optional<grpc::Reply> reply_;
  rls::Request request_;  // points into the message, which the reply keeps
  rls::Call call_;
  std::string message_;
};

RateLimitService::RateLimitService(const ServiceParts& parts) : parts_(parts), statuses_(parts.refusals) {}

RateLimitService::~RateLimitService() = default;

std::span<const grpc::Method> RateLimitService::method_table() { return kRateLimitMethods; }

void RateLimitService::handle(std::size_t, std::span<char> message, grpc::Reply reply) {
  const auto refusal = rls::refuse_caller(*parts_.rate_limits, parts_.decider, reply.peer(), api_key_of(reply),
                                          parts_.callers_have_certificates);
  if (refusal && refusal->credential) return statuses_.refuse(reply, refused_for(*refusal->credential));
  if (refusal) return reply.finish({grpc::Code::unauthenticated, refusal->text});
  singles_.take(*this).start({message.data(), message.size()}, std::move(reply));
}

}  // namespace sluice::agent::rpc
