#include "agent/rls/service.hpp"

#include <utility>

#include "common/policy/id_map.hpp"

namespace sluice::agent::rls {

Service::Service(const Options& options, Resources resources)
    : options_(options), resources_(std::move(resources)), tenant_hash_(policy::hash_of_id(options.tenant)) {}

std::shared_ptr<const limiter::Program> Service::program(std::uint32_t requests_per_unit, rls_config::Unit unit) {
  const std::uint64_t key = std::uint64_t{requests_per_unit} << 8 | static_cast<std::uint64_t>(unit);
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
  Limit limit;
  limit.name = "window";
  limit.algorithm = Algorithm::fixed_window;
  limit.limit = requests_per_unit;
  limit.window = rls_config::length_of(unit);
  auto program = std::make_shared<const limiter::Program>(limiter::compile({limit}, std::nullopt));
  if (programs_.size() < kMaxPrograms) programs_.emplace(key, program);
  return program;
}

}  // namespace sluice::agent::rls
