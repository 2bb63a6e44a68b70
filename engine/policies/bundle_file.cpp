#include "engine/policies/bundle_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/base/crypto.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/base/text.hpp"
#include "common/json/fault_place.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/policy/match.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/shared_names.hpp"
#include "common/policy/warnings.hpp"
#include "common/yaml/yaml.hpp"

namespace sluice::policies {
namespace {

constexpr std::size_t kChunk = std::size_t{64} * 1024;

std::unexpected<Fault> unreadable(const std::string& path, int error) {
  return std::unexpected(Fault{"", fmt::format("{} cannot be read: {}", path, std::strerror(error))});
}

// Returns false on an error (errno).
bool read_all(int fd, std::string& text) {
  for (;;) {
    std::size_t had = text.size();
    text.resize(had + kChunk);
    ssize_t got = ::read(fd, text.data() + had, kChunk);
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
  }
}

void log_each(telemetry::Log& log, telemetry::LogLevel level, std::string_view event, const std::string& path,
              const Faults& faults, std::size_t limit) {
  for (const Fault& fault : faults) {
    if (limit-- == 0) return;
    if (fault.line == 0) {
      log.write(level, event, fault.text, {{"file", path}, {"pointer", fault.pointer}});
    } else {
      log.write(level, event, fault.text,
                {{"file", path}, {"pointer", fault.pointer}, {"line", fault.line}, {"column", fault.column}});
    }
  }
}

}  // namespace

std::expected<std::optional<FileText>, Fault> read_whole(const std::string& path, bool only_regular) {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // Without O_NONBLOCK, opening a pipe that has no writer would wait.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (only_regular ? O_NONBLOCK : 0)));
    struct stat before{};
    struct stat after{};
    if (file.get() < 0 || ::fstat(file.get(), &before) != 0) return unreadable(path, errno);
    FileText read{.text = {}, .identity = identity_of(before)};
    if (only_regular && !read.identity.regular) {
      return std::unexpected(Fault{"", fmt::format("{} is not a regular file; put a regular file at this path", path)});
    }
    if (read.identity.regular) read.text.reserve(static_cast<std::size_t>(before.st_size) + kChunk);
    if (!read_all(file.get(), read.text) || ::fstat(file.get(), &after) != 0) return unreadable(path, errno);
    bool whole = !read.identity.regular ||
                 (identity_of(after) == read.identity && std::cmp_equal(read.text.size(), before.st_size));
    if (whole) return read;
  }
  return std::nullopt;
}

std::string digest_of(std::string_view text) { return to_hex(sha256(text)); }

BundleFormat format_of(std::string_view path, std::string_view text) {
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return BundleFormat::yaml;
  if (path.ends_with(".json")) return BundleFormat::json;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first == std::string_view::npos || text[first] == '{' || text[first] == '[';
  return is_json ? BundleFormat::json : BundleFormat::yaml;
}

LoadedBundle load_bundle(std::string_view text, BundleFormat format, std::string digest, std::uint64_t revision,
                         std::int64_t now_us, Mode mode) {
  yaml::YamlDocument converted;
  if (format == BundleFormat::yaml) {
    auto read = yaml::json_of_yaml(text);
    if (!read) return std::unexpected(Faults{std::move(read.error())});
    converted = *std::move(read);
    text = converted.json;
  }
  const auto located = [&](Faults faults) {
    if (format == BundleFormat::yaml) {
      converted.locate(faults);
    } else if (!faults.empty()) {
      json::locate_faults(text, faults);
    }
    return faults;
  };
  Faults warnings;
  auto bundle = parse_written_bundle(text, &policy::check_expression, warnings);
  if (!bundle) {  // its faults have their place in the JSON
    if (format == BundleFormat::yaml) converted.locate(bundle.error());
    return std::unexpected(std::move(bundle.error()));
  }
  bundle->mode = policy::effective_mode(bundle->mode, mode, mode);
  auto snapshot = policy::build_snapshot(*bundle, revision, now_us, std::move(digest));
  if (!snapshot) return std::unexpected(located(std::move(snapshot.error())));
  std::ranges::move(policy::warnings(*bundle, now_us), std::back_inserter(warnings));
  return BundleContent{std::move(*snapshot), located(std::move(warnings)), located(policy::shared_names(*bundle))};
}

LoadedBundle load_bundle_file(const std::string& path, std::int64_t now_us, Mode mode, FileIdentity* identity) {
  auto file = read_whole(path, false);
  if (!file) return std::unexpected(Faults{std::move(file.error())});
  if (!*file) return std::unexpected(Faults{{"", fmt::format("{} changes while it is read", path)}});
  if (identity) *identity = (*file)->identity;
  const std::string& text = (*file)->text;
  return load_bundle(text, format_of(path, text), digest_of(text), 1, now_us, mode);
}

std::string describe(const Fault& fault) {
  std::string place = fault.pointer;
  if (fault.line > 0) {
    place += fmt::format("{}line {}, column {}", place.empty() ? "" : ", ", fault.line, fault.column);
  }
  return visible(place.empty() ? fault.text : fmt::format("{}: {}", place, fault.text));
}

void log_faults(telemetry::Log& log, const std::string& path, const Faults& faults, std::size_t limit) {
  log_each(log, telemetry::LogLevel::error, "bundle_refused", path, faults, limit);
}

void log_warnings(telemetry::Log& log, const std::string& path, const Faults& warnings, std::size_t limit) {
  log_each(log, telemetry::LogLevel::warn, "bundle_warning", path, warnings, limit);
}

}  // namespace sluice::policies
