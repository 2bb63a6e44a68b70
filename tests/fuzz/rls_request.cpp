// Any bytes as a RateLimitRequest, of Protobuf and of JSON: no crash; what is accepted is within its bounds, and a
// response to it can be written in both forms.
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/rls/json.hpp"
#include "agent/rls/verdict.hpp"
#include "agent/rls/wire.hpp"
#include "common/base/utf8.hpp"
#include "common/json/tree.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;
using namespace sluice::agent;

void answer(const rls::Request& request) {
  REQUIRE_THAT(request.descriptors.size() <= rls::kMaxDescriptors);
  std::vector<rls::DescriptorVerdict> verdicts;
  for (const rls::Descriptor& descriptor : request.descriptors) {
    REQUIRE_THAT(descriptor.entries.size() <= rls::kMaxEntries);
    for (const rls_config::Entry& entry : descriptor.entries) REQUIRE_THAT(is_utf8(entry.key) && is_utf8(entry.value));
    verdicts.push_back({.descriptor = &descriptor, .rule = nullptr, .status = {}});
  }
  const rls::Response response = rls::make_response(request, verdicts, {.headers = true, .metadata = true});
  std::string text;
  rls::write_response(response, text);
  json::Tree tree;
  REQUIRE_THAT(tree.parse(text).has_value());
  std::string bytes;
  rls::encode_response(response, bytes);
  REQUIRE_THAT(!bytes.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto request = rls::decode_request(bytes)) {
    answer(*request);
  } else {
    REQUIRE_THAT(!request.error().empty());
  }
  json::Tree tree;
  if (const auto request = rls::read_request(bytes, tree)) {
    answer(*request);
  } else {
    REQUIRE_THAT(!request.error().empty());
  }
  return 0;
}
