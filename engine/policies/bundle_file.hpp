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

namespace sluice::policies {

struct FileText {
  std::string text;
  FileIdentity identity;  // of the file that was read; the path may lead to another file by now
};

// Returns nullopt if the file changed during each of three attempts. With `only_regular`, a file that is not regular is
// a fault, because a pipe might never end.
std::expected<std::optional<FileText>, Fault> read_whole(const std::string& path, bool only_regular);

struct BundleContent {
  std::shared_ptr<const policy::Snapshot> snapshot;
  Faults warnings;      // valid values that are probably mistakes
  Faults shared_names;  // see policy::shared_names(): faults for the server, and for --check-config
};
using LoadedBundle = std::expected<BundleContent, Faults>;

enum class BundleFormat : std::uint8_t { json, yaml };

// By the name: .json, .yaml or .yml. Under another name a text is JSON if it begins with a bracket, else YAML.
BundleFormat format_of(std::string_view path, std::string_view text);

// Returns the compiled bundle, or all its faults, which have their place in `text`. `digest` becomes the snapshot's
// chain. YAML is only another way to write the JSON that is then read. No policy is stricter than `mode`.
LoadedBundle load_bundle(std::string_view text, BundleFormat format, std::string digest, std::uint64_t revision,
                         std::int64_t now_us, Mode mode);

// Loads the file as revision 1. `identity`, which may be nullptr, receives the identity of the file.
LoadedBundle load_bundle_file(const std::string& path, std::int64_t now_us, Mode mode,
                              FileIdentity* identity = nullptr);

// SHA-256 of the bytes in hex.
std::string digest_of(std::string_view text);

// Returns one line such as "/plans/0/id, line 3, column 12: must …".
std::string describe(const Fault& fault);

// One line for each fault, at most `limit` lines.
void log_faults(telemetry::Log& log, const std::string& path, const Faults& faults, std::size_t limit);
void log_warnings(telemetry::Log& log, const std::string& path, const Faults& warnings, std::size_t limit);

}  // namespace sluice::policies
