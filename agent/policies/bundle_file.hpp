// Reads and compiles the bundle file of `--policies`, and describes its faults.
//
// Thread safety: the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "common/base/file_identity.hpp"
#include "common/policy/snapshot.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent::policies {

// The bytes of a file and its identity when it was opened. The path may lead to another file by now.
struct FileText {
  std::string text;
  FileIdentity identity;
};

// Returns the whole file. nullopt: the file changed during each of three attempts, so another process is writing it.
// Fault: the file cannot be read. With `only_regular`, a file that is not regular is a fault too: a pipe might never
// end.
std::expected<std::optional<FileText>, Fault> read_whole(const std::string& path, bool only_regular);

struct BundleContent {
  std::shared_ptr<const policy::Snapshot> snapshot;
  Faults warnings;  // valid places of the bundle that are probably mistakes
};
using LoadedBundle = std::expected<BundleContent, Faults>;

// Parses, validates and compiles a bundle. On failure, returns all faults, each with its JSON pointer, line and column.
// `digest` becomes the snapshot's chain.
LoadedBundle load_bundle(std::string_view text, std::string digest, std::uint64_t revision, std::int64_t now_us);

// Loads the file as revision 1. `identity`: receives the identity of the file; may be nullptr.
LoadedBundle load_bundle_file(const std::string& path, std::int64_t now_us, FileIdentity* identity = nullptr);

// SHA-256 of the bytes in hex. It serves as the chain of a bundle file's snapshot.
std::string digest_of(std::string_view text);

// "/plans/0/id, line 3, column 12: must …". A pointer or line that is unknown is left out.
std::string describe(const Fault& fault);

// Logs one line for each fault, at most `limit` lines.
void log_faults(telemetry::Log& log, const std::string& path, const Faults& faults, std::size_t limit);
void log_warnings(telemetry::Log& log, const std::string& path, const Faults& warnings, std::size_t limit);

}  // namespace sluice::agent::policies
