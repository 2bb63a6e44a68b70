// Any bytes as a bundle: no crash; what is accepted is in range and survives being written and read again, and its
// canonical form does not change any more; what is refused says where and why.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "common/domain/bundle.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/json_tree.hpp"
#include "common/domain/limit_numbers.hpp"

namespace {

using namespace sluice;

#define REQUIRE_THAT(condition)                                                    \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

void require_explained(const Faults& faults) {
  REQUIRE_THAT(!faults.empty() && faults.size() <= 10'001);
  for (const Fault& fault : faults) {
    REQUIRE_THAT(fault.pointer.empty() || fault.pointer.front() == '/');
    REQUIRE_THAT(!fault.text.empty());
  }
}

void require_sound(const std::vector<Limit>& limits) {
  REQUIRE_THAT(limits.size() <= kMaxLimitsPerPlan);
  std::set<std::string_view> names;
  for (const Limit& limit : limits) {
    REQUIRE_THAT(is_limit_name(limit.name) && names.insert(limit.name).second);
    REQUIRE_THAT(limit.limit >= 0 && limit.limit <= kMaxLimit);
    REQUIRE_THAT(!number_fault(limit));
    const bool bucket = limit.algorithm == Algorithm::token_bucket || limit.algorithm == Algorithm::leaky_bucket;
    REQUIRE_THAT(bucket == (limit.rate.units > 0) && limit.rate.per_us > 0);
  }
}

void require_sound(const Bundle& bundle) {
  for (const Plan& plan : bundle.plans) {
    REQUIRE_THAT(is_id(plan.tenant_id) && is_id(plan.id) && !plan.limits.empty());
    require_sound(plan.limits);
  }
  for (const Policy& policy : bundle.policies) {
    REQUIRE_THAT(is_id(policy.tenant_id) && is_id(policy.id));
    REQUIRE_THAT(policy.limits.empty() != policy.plan_id.empty());
    require_sound(policy.limits);
  }
  for (const Override& item : bundle.overrides) {
    REQUIRE_THAT(item.policy_id.empty() != item.plan_id.empty());
    REQUIRE_THAT(item.limit || item.rate || item.window || item.lease_ttl);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bundle = parse_bundle({reinterpret_cast<const char*>(data), size});
  if (!bundle) {
    require_explained(bundle.error());
    return 0;
  }
  require_sound(*bundle);
  const std::string text = write_bundle(*bundle);
  const auto again = parse_bundle(text);
  REQUIRE_THAT(again);
  REQUIRE_THAT(*again == *bundle);
  REQUIRE_THAT(write_bundle(*again) == text);
  return 0;
}
