// Reads the bundle file that `--policies` names.
#pragma once

#include <memory>
#include <string>

#include "common/policy/snapshot.hpp"

namespace sluice::agent {

// Parsed, validated and compiled; or every fault, each with its JSON pointer.
std::expected<std::shared_ptr<const policy::Snapshot>, Faults> load_bundle(const std::string& path,
                                                                           std::uint64_t revision, std::int64_t now_us);

}  // namespace sluice::agent
