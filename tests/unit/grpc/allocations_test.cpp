// Calls from the bytes of a client to the bytes of their answers: in the steady state none of them allocates.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <protozero/pbf_writer.hpp>

#include "agent/grpc/authorization_service.hpp"
#include "agent/grpc/decisions_service.hpp"
#include "common/grpc/dispatcher.hpp"
#include "tests/unit/agent/api/api_rig.hpp"
#include "tests/unit/domain/allocations.hpp"
#include "tests/unit/grpc/rig.hpp"

#ifdef SLUICE_COUNTS_ALLOCATIONS
namespace sluice::agent::rpc {
namespace {

constexpr const char* kPolicies = R"("policies":[{"tenant_id":"shop","id":"orders","scope":{"resource":"GET:/orders"},
  "key_by":["subject"],"limits":[{"name":"burst","algorithm":"token_bucket","capacity":100000,"refill":"1/1s"}]}])";

std::string check() {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, "GET:/orders");
  out.add_string(2, "user:42");
  return message;
}

std::string authz_check() {
  std::string message;
  protozero::pbf_writer out(message);
  protozero::pbf_writer attributes(out, 1);
  protozero::pbf_writer request(attributes, 4);
  protozero::pbf_writer http(request, 2);
  http.add_string(2, "GET");
  for (const char* name : {"accept", "x-request-id", "user-agent"}) {
    protozero::pbf_writer header(http, 3);
    header.add_string(1, name);
    header.add_string(2, "7a1f0c52-5d0e-4f6f-9d53-0a4f9f4f1f0a");
  }
  http.add_string(4, "/orders?page=2");
  http.add_string(5, "shop.example");
  return message;
}

std::string batch_of(std::size_t checks) {
  std::string message;
  protozero::pbf_writer out(message);
  for (std::size_t i = 0; i < checks; ++i) out.add_message(1, check());
  return message;
}

// The client's frames are written by hand, so that only the agent's allocations count.
class World {
 public:
  World()
      : rig_(kPolicies),
        service_(rig_.decider, rig_.metrics.refusals),
        authorization_(
            {.decider = rig_.decider, .refusals = rig_.metrics.refusals, .authz = &authz_, .authz_key = &authz_key_}),
        pair_(dispatcher_) {}

  // Allocations of so many calls, when others went before.
  std::size_t allocations_of(std::string_view method, std::string_view message, int calls = 20) {
    constexpr int kBefore = 10;
    std::size_t allocations = 0;
    std::string out;
    for (int i = 0; i < kBefore + calls; ++i) {
      const std::string asked = request(method, message);
      out.clear();
      const std::size_t ok = outcomes_.all.size();
      outcomes_.all.reserve(ok + 1);
      const AllocationCount count;
      pair_.session.feed(asked);
      pair_.session.pull(out, SIZE_MAX);
      if (i >= kBefore) allocations += count.so_far();
      REQUIRE(outcomes_.all.size() == ok + 1);
      REQUIRE(outcomes_.all.back().second == grpc::Code::ok);
    }
    return allocations;
  }

 private:
  std::string request(std::string_view method, std::string_view message) {
    using http2::literal;
    std::string fields = literal(":method", "POST") + literal(":scheme", "http") + literal(":authority", "here") +
                         literal(":path", std::string(method)) + literal("te", "trailers") +
                         literal("content-type", "application/grpc") + literal("x-api-key", rig_.shop_key) +
                         literal("grpc-timeout", "1S");
    const std::string body = grpc::framed(message);
    const std::uint32_t stream = std::exchange(next_, next_ + 2);
    return http2::frame(NGHTTP2_HEADERS, 4, stream, fields) + http2::frame(NGHTTP2_DATA, 1, stream, body);
  }

  api::ApiRig rig_;
  DecisionsService service_;
  api::AuthzOptions authz_;
  std::string authz_key_;
  AuthorizationService authorization_;
  grpc::SetAlarm alarm_;
  grpc::Outcomes outcomes_;
  grpc::Service* services_[2] = {&service_, &authorization_};
  grpc::Dispatcher dispatcher_{services_, outcomes_, alarm_};
  http2::Pair pair_;
  std::uint32_t next_ = 1;
};

TEST_CASE("in the steady state a check over gRPC allocates nothing") {
  World world;
  CHECK(world.allocations_of("/sluice.v1.Decisions/Check", check()) == 0);
}

TEST_CASE("in the steady state a call of Envoy's external authorization allocates nothing") {
  World world;
  CHECK(world.allocations_of("/envoy.service.auth.v3.Authorization/Check", authz_check()) == 0);
}

TEST_CASE("in the steady state a batch of checks over gRPC allocates nothing") {
  World world;
  CHECK(world.allocations_of("/sluice.v1.Decisions/CheckBatch", batch_of(16)) == 0);
}

}  // namespace
}  // namespace sluice::agent::rpc
#endif
