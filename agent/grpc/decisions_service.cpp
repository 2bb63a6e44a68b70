#include "agent/grpc/decisions_service.hpp"

#include <array>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "agent/grpc/batch_call.hpp"
#include "agent/grpc/check_message.hpp"
#include "agent/grpc/check_stream.hpp"
#include "agent/grpc/decision_message.hpp"
#include "common/domain/check_batch.hpp"
#include "common/http/request_id.hpp"
#include "common/limiter/lease_id.hpp"
#include "engine/decide/check.hpp"

namespace sluice::agent::rpc {
namespace {

enum : std::size_t { kCheck, kCheckBatch, kCheckStream, kRelease, kRenew };
constexpr auto kDecisionsMethods = std::to_array<grpc::Method>(
    {{.name = "Check", .max_message = kMaxCheckBytes},
     {.name = "CheckBatch", .max_message = kMaxBatchBytes},
     {.name = "CheckStream", .max_message = kMaxCheckBytes, .client_streams = true, .server_streams = true},
     {.name = "Release", .max_message = limiter::kMaxLeaseId + 16},
     {.name = "Renew", .max_message = limiter::kMaxLeaseId + 16}});

constexpr std::string_view kDenyMetadata = "sluice-deny-with-status";

}  // namespace

std::string_view api_key_of(const grpc::Reply& reply) {
  if (const std::string_view key = reply.metadata("x-api-key"); !key.empty()) return key;
  std::string_view authorization = reply.metadata("authorization");
  for (const std::string_view scheme : {"Bearer ", "bearer "}) {
    if (authorization.starts_with(scheme)) return authorization.substr(scheme.size());
  }
  return {};
}

// One call of Check.
class DecisionsService::Single final : public decide::CheckListener, private grpc::CallListener {
 public:
  explicit Single(DecisionsService& service) : service_(service), check_(service.decider_) {}

  void start(std::span<char> message, grpc::Reply reply, decide::InFlight::Place place, decide::Caller caller) {
    reply_.emplace(std::move(reply));
    caller_ = std::move(caller);
    try {
      read_and_start(message, std::move(place));
    } catch (const std::bad_alloc&) {
      service_.decider_.count_overload();
      refuse_without_memory();
    }
  }

  void decided(std::size_t, const Decision& decision) override {
    if (!decision.allowed && deny_with_status_) {
      service_.statuses_.deny(*reply_, decision);
    } else {
      service_.out_.clear();
      write_check_response(decision, service_.out_);
      reply_->finish(service_.out_);
    }
    return_to_pool();
  }
  void refused(std::size_t, const decide::Refusal& refusal) override {
    if (refusal.kind == decide::Refusal::Kind::out_of_memory) return refuse_without_memory();
    refuse(refused_for(refusal));
  }
  bool wait_begins(std::size_t) override { return reply_->listen(*this); }

 private:
  void on_over() override { check_.abandon(); }

  void read_and_start(std::span<char> message, decide::InFlight::Place place) {
    // Metadata does not outlive the client's stay.
    const std::string_view request_id = reply_->metadata(http::kRequestIdField);
    request_id_ = request_id.empty() || http::is_request_id(request_id) ? request_id : http::make_request_id();
    traceparent_ = reply_->metadata("traceparent");
    auto faults = read_check(message, message_);
    deny_with_status_ = message_.deny_with_status || reply_->metadata(kDenyMetadata) == "true";
    CheckRequest& request = message_.request;
    if (request.request_id.empty()) request.request_id = request_id_;
    if (!faults.empty()) {
      place.leave();
      return refuse(refused_for(faults, request.request_id));
    }
    if (!caller_.is_of(request.tenant_id)) {
      place.leave();
      return refuse(refused_for({.kind = decide::Refusal::Kind::other_tenant, .request_id = request.request_id}));
    }
    check_.start(std::move(place), caller_, caller_.origin(), request, {traceparent_, &reply_->span()}, *this);
  }

  void refuse(const Refused& refused) {
    service_.statuses_.refuse(*reply_, refused);
    return_to_pool();
  }
  void refuse_without_memory() {
    reply_->finish(kNoMemory);
    return_to_pool();
  }
  void return_to_pool() {
    reply_.reset();
    caller_ = {};
    service_.singles_.give_back(*this);
  }

  DecisionsService& service_;
  std::optional<grpc::Reply> reply_;
  decide::Caller caller_;
  std::string request_id_;  // the request may point to it
  std::string traceparent_;
  CheckMessage message_;  // points into the message, which the reply keeps
  bool deny_with_status_ = false;
  decide::Check check_;
};

// One call of Release or Renew. Owns itself until the counter store has answered.
class DecisionsService::LeaseCall final : public limiter::LeaseListener {
 public:
  LeaseCall(grpc::Reply reply, bool renew) : reply_(std::move(reply)), renew_(renew) {}

  void settled(const limiter::StoreResult<limiter::LeaseOutcome>& result) override {
    const std::unique_ptr<LeaseCall> self(this);
    if (!result) {
      return reply_.finish(
          {grpc::Code::unavailable, "The counter store does not answer; the lease ends by itself at its expiry."});
    }
    try {
      std::string message;
      protozero::pbf_writer out(message);
      out.add_bool(1, result->live);
      if (renew_ && result->live) out.add_int64(2, result->expires_at_us / 1'000'000);
      reply_.finish(message);
    } catch (const std::bad_alloc&) {
      reply_.finish(kNoMemory);
    }
  }

  // Called if the store's release() or renew() has thrown.
  void fail_without_memory() {
    reply_.finish(kNoMemory);
    delete this;
  }

 private:
  grpc::Reply reply_;
  const bool renew_;
};

DecisionsService::DecisionsService(decide::Decider& decider, telemetry::CounterVector& refusals)
    : decider_(decider), statuses_(refusals), batches_(std::make_unique<Pool<BatchCall>>()) {}

DecisionsService::~DecisionsService() = default;

std::span<const grpc::Method> DecisionsService::method_table() { return kDecisionsMethods; }

void DecisionsService::handle(std::size_t method, std::span<char> message, grpc::Reply reply) {
  switch (method) {
    case kCheck:
      return check(message, std::move(reply));
    case kCheckBatch:
      return check_batch(message, std::move(reply));
    default:
      return change_lease(message, std::move(reply), method == kRenew);
  }
}

void DecisionsService::check(std::span<char> message, grpc::Reply reply) {
  auto place = decider_.admit();
  if (!place) {
    if (!place.error().allowed && reply.metadata(kDenyMetadata) == "true") {
      return statuses_.deny(reply, place.error());
    }
    out_.clear();
    write_check_response(place.error(), out_);
    return reply.finish(out_);
  }
  auto caller = decider_.authenticate(api_key_of(reply));
  if (!caller) {
    place->leave();
    return statuses_.refuse(reply, refused_for(caller.error()));
  }
  singles_.take(*this).start(message, std::move(reply), *std::move(place), *std::move(caller));
}

// As over HTTP: without a snapshot, --no-snapshot=deny refuses the whole batch; with allow, each check gets a decision.
void DecisionsService::check_batch(std::span<char> message, grpc::Reply reply) {
  if (const auto decision = decider_.refuse_all()) return statuses_.deny(reply, *decision);
  std::optional<decide::Caller> authenticated;
  if (decider_.snapshot() != nullptr) {
    auto caller = decider_.authenticate(api_key_of(reply));
    if (!caller) return statuses_.refuse(reply, refused_for(caller.error()));
    authenticated = *std::move(caller);
  }
  batches_->take(decider_, statuses_, *batches_).start(message, std::move(reply), std::move(authenticated));
}

void DecisionsService::open(std::size_t, grpc::Reply reply) {
  CheckStream::start(decider_, statuses_, std::move(reply));
}

void DecisionsService::change_lease(std::span<char> message, grpc::Reply reply, bool renew) {
  const auto caller = decider_.authenticate(api_key_of(reply));
  if (!caller) return statuses_.refuse(reply, refused_for(caller.error()));
  const auto id = read_lease_id(message);
  if (!id) {
    return statuses_.refuse(
        reply,
        refused_for({{.status = 400, .pointer = "/lease_id", .text = "is required; copy it from the check's decision"}},
                    {}));
  }
  const auto leases = decider_.find_leases(*caller, *id);
  if (!leases) return statuses_.refuse(reply, refused_for(leases.error()));
  auto* listener = new LeaseCall(std::move(reply), renew);
  try {
    if (renew) {
      decider_.renew(*leases, caller->origin(), *listener);
    } else {
      decider_.release(*leases, caller->origin(), *listener);
    }
  } catch (const std::bad_alloc&) {
    listener->fail_without_memory();
  }
}

}  // namespace sluice::agent::rpc
