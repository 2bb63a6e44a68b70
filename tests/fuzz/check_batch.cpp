// Any bytes as the body of a batch: no crash, no access outside of it, nothing written to it; what is refused is
// refused in an orderly way; what is accepted is, to an independent reader, an object with one list whose items are
// the spans, but for those that parse_check refuses alone.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/check_batch.hpp"
#include "common/json/tree.hpp"
#include "tests/fuzz/orderly_refusal.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;
using namespace sluice::fuzz;

bool parses(std::string_view text) {
  std::string copy(text);
  CheckRequest request;
  return parse_check(copy, request).empty();
}

// The spans lie in the body, one behind the other, apart by one comma and space.
void require_in_order(std::string_view body, const std::vector<std::span<char>>& checks) {
  std::size_t behind = 0;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto at = static_cast<std::size_t>(checks[i].data() - body.data());
    REQUIRE_THAT(!checks[i].empty() && at > behind && at + checks[i].size() < body.size());
    if (i > 0) {
      const std::string_view between = body.substr(behind, at - behind);
      REQUIRE_THAT(between.find_first_not_of(" \t\n\r,") == std::string_view::npos);
      REQUIRE_THAT(between.find(',') == between.rfind(',') && between.find(',') != std::string_view::npos);
    }
    behind = at + checks[i].size();
  }
}

// With what only parse_check sees through taken out, both readers must find the same.
void require_same(std::string_view body, const std::vector<std::span<char>>& checks) {
  std::string plain;
  std::size_t from = 0;
  std::size_t good = 0;
  for (const std::span<char> check : checks) {
    const auto at = static_cast<std::size_t>(check.data() - body.data());
    const std::string_view text(check.data(), check.size());
    plain += body.substr(from, at - from);
    plain += parses(text) ? text : std::string_view("0");
    good += parses(text) ? 1 : 0;
    from = at + check.size();
  }
  plain += body.substr(from);
  json::Tree tree;
  const auto root = tree.parse(plain);
  REQUIRE_THAT(root.has_value() && root->type() == json::Type::object);
  REQUIRE_THAT(root->members().size() == 1 && root->members()[0].name == "checks");
  const json::Value& list = root->members()[0].value;
  REQUIRE_THAT(list.type() == json::Type::array && list.items().size() == checks.size());
  for (const json::Value& item : list.items()) good -= item.type() == json::Type::object ? 1 : 0;
  REQUIRE_THAT(good == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view original(reinterpret_cast<const char*>(data), size);
  const auto memory = std::make_unique<char[]>(size);  // of exactly this size: one byte too far is seen
  original.copy(memory.get(), size);
  const std::string_view body(memory.get(), size);
  std::vector<std::span<char>> checks;
  const auto faults = split_checks({memory.get(), size}, checks);
  REQUIRE_THAT(body == original);
  if (!faults.empty()) {
    require_orderly(faults);
    return 0;
  }
  REQUIRE_THAT(!checks.empty() && checks.size() <= kMaxBatchChecks);
  require_in_order(body, checks);
  require_same(body, checks);
  CheckRequest request;
  for (const std::span<char> check : checks) parse_check(check, request);  // in place, each in its span
  return 0;
}
