// Reads the bundle file that `--policies` names, and says what is wrong with it.
//
// Thread safety: the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "agent/policies/file_identity.hpp"
#include "common/policy/snapshot.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent::policies {

// The bytes of a file, and which file they are of. `as` is of the file that was opened, whatever the path leads to now.
struct FileText {
  std::string text;
  FileIdentity as;
};

// The whole file. Nothing where it changed while it was read, again and again: it is being written.
// A fault where it cannot be read; `only_regular`: and where it is a pipe or the like, which might never end.
std::expected<std::optional<FileText>, Fault> read_whole(const std::string& path, bool only_regular);

struct BundleContent {
  std::shared_ptr<const policy::Snapshot> snapshot;
  Faults warnings;  // what is allowed, and most likely not meant
};
using LoadedBundle = std::expected<BundleContent, Faults>;

// Parsed, validated and compiled; or every fault, each with its JSON pointer and place. The snapshot's chain is
// `digest`.
LoadedBundle load_bundle(std::string_view text, std::string digest, std::uint64_t revision, std::int64_t now_us);

// The file as revision 1; which file that is goes to `which` where it is asked for.
LoadedBundle load_bundle_file(const std::string& path, std::int64_t now_us, FileIdentity* which = nullptr);

// SHA-256 of the bytes in hex: what the history of a bundle file is named by.
std::string digest_of(std::string_view text);

// "/plans/0/id, line 3, column 12: must …", as far as the place is known.
std::string describe(const Fault& fault);

// One line for each fault, `most` of them at most.
void log_faults(telemetry::Log& log, const std::string& path, const Faults& faults, std::size_t most);
void log_warnings(telemetry::Log& log, const std::string& path, const Faults& warnings, std::size_t most);

}  // namespace sluice::agent::policies
