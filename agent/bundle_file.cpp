#include "agent/bundle_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "common/domain/fault_place.hpp"
#include "common/policy/match_expr.hpp"

namespace sluice::agent {

std::expected<std::shared_ptr<const policy::Snapshot>, Faults> load_bundle(const std::string& path,
                                                                           std::uint64_t revision,
                                                                           std::int64_t now_us) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) {
    return std::unexpected(Faults{{"", fmt::format("{} cannot be read: {}", path, std::strerror(errno))}});
  }
  auto bundle = parse_bundle(text.view(), &policy::check_expression);
  if (!bundle) return std::unexpected(std::move(bundle.error()));
  auto snapshot = policy::build_snapshot(*bundle, revision, now_us);
  if (!snapshot) locate_faults(text.view(), snapshot.error());
  return snapshot;
}

}  // namespace sluice::agent
