#include "common/tracing/sampler.hpp"

namespace sluice::tracing {

std::optional<Sampler> Sampler::named(std::string_view name, double ratio) {
  constexpr std::string_view kParentBased = "parentbased_";
  const bool parent_based = name.starts_with(kParentBased);
  if (parent_based) name.remove_prefix(kParentBased.size());
  if (name == "always_on") return Sampler(parent_based, 1);
  if (name == "always_off") return Sampler(parent_based, 0);
  if (name == "traceidratio") return Sampler(parent_based, ratio);
  return std::nullopt;
}

}  // namespace sluice::tracing
