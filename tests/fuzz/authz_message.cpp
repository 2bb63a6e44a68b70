// Any bytes as a message of Envoy's external authorization: no crash; what is accepted becomes a check whose values are
// within their bounds, for any caller, and can be answered.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/grpc/authz_check.hpp"
#include "agent/grpc/authz_message.hpp"
#include "common/base/utf8.hpp"
#include "common/domain/identifiers.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;
using namespace sluice::agent;

void check_bounds(const CheckRequest& request) {
  for (const Value& value : request.dimensions) {
    REQUIRE_THAT(value.text.size() <= kMaxValueBytes && is_utf8(value.text));
  }
  for (const NamedValue& tag : request.tags) REQUIRE_THAT(tag.text.size() <= kMaxValueBytes && is_utf8(tag.text));
  REQUIRE_THAT(request.plan_id.size() <= kMaxValueBytes && is_utf8(request.plan_id));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const api::AuthzOptions options{
      .proxies = *api::parse_trusted_proxies("127.0.0.1,10.0.0.0/8,unix"),
      .map = *api::parse_authz_map("x-user-id=subject,x-plan=plan_id,x-team=tag.team,x-kind=attr.kind")};
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  rpc::AuthzMessage message;
  if (!rpc::read_authz_message(bytes, message)) return 0;
  std::string text;
  CheckRequest request;
  for (const std::string_view caller : {"127.0.0.1", "198.51.100.4", ""}) {
    rpc::read_authz_check(options, api::find_peer(caller, options.proxies), message, text, request);
    check_bounds(request);
  }
  std::array<std::string_view, rpc::kCredentialHeaders> credentials;
  std::string out;
  rpc::write_authz_allowed({}, {}, rpc::credential_headers(message, credentials), out);
  REQUIRE_THAT(!out.empty());
  return 0;
}
