#include "server/audit/saved_heads.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"

namespace sluice::server::audit {
namespace {

constexpr std::size_t kMaxDigits = 64;  // of a SHA-256 hash in hex

void read_head(const json::Value& value, const json::Place& place, json::FaultList& faults, SavedHeads& heads) {
  json::Fields fields(value, place, faults);
  fields.require("organization_id", "it names the organization of the chain; \"\" is the platform");
  fields.require("seq", "the number of the chain's last row");
  fields.require("hash", "that row's hash");
  const auto organization = fields.text("organization_id", kMaxIdBytes);
  const auto seq = fields.integer("seq", 1, std::numeric_limits<std::int64_t>::max());
  const auto hash = fields.text("hash", kMaxDigits);
  ChainHead head{.seq = seq.value_or(0), .hash = {}};
  if (hash && !from_hex(*hash, head.hash)) fields.fault("hash", "hash must be 64 hex digits");
  if (organization && !organization->empty() && !is_id(*organization)) {
    fields.fault("organization_id", fmt::format("{} is not the id of an organization", quoted(*organization)));
  }
  if (organization && !heads.emplace(*organization, head).second) {
    fields.fault("organization_id", fmt::format("{} is listed twice; keep one", quoted(*organization)));
  }
  fields.reject_unknown();
}

std::string text_of(const Faults& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    text += text.empty() ? "" : "; ";
    if (fault.line > 0) text += fmt::format("line {}, column {}: ", fault.line, fault.column);
    if (!fault.pointer.empty()) text.append(fault.pointer).append(": ");
    text += fault.text;
  }
  return text;
}

Error from_errno(const char* code, const std::string& path) {
  return {.code = code, .text = fmt::format("{}: {}", path, std::strerror(errno))};
}

bool write_whole(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return false;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  const bool good = text.empty() && ::fsync(file) == 0;
  const int cause = errno;
  ::close(file);
  errno = cause;
  return good;
}

}  // namespace

Result<SavedHeads> parse_saved_heads(const std::string& text) {
  json::Tree tree;
  const auto document = tree.parse(text);
  if (!document) return failure("head_file_malformed", text_of({document.error()}));
  json::FaultList faults;
  const json::Place whole;
  json::Fields fields(*document, whole, faults);
  SavedHeads heads;
  fields.require("heads", "the list of heads that --write-head wrote");
  fields.each("heads", false,
              [&](const json::Value& value, const json::Place& place) { read_head(value, place, faults, heads); });
  fields.reject_unknown();
  if (faults.count() > 0) return failure("head_file_malformed", text_of(faults.take()));
  return heads;
}

Result<SavedHeads> read_saved_heads(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(from_errno("head_file_unreadable", path));
  std::ostringstream text;
  text << file.rdbuf();
  // A folder can be opened, but not read.
  if (file.bad() || text.fail()) {
    return failure("head_file_unreadable", fmt::format("{} is empty or cannot be read", path));
  }
  auto heads = parse_saved_heads(text.str());
  if (!heads) heads.error().text.insert(0, path + ": ");
  return heads;
}

std::string saved_heads_document(const SavedHeads& heads) {
  std::string text = "{\"heads\":[";
  for (bool first = true; const auto& [organization, head] : heads) {
    text += first ? "\n" : ",\n";
    first = false;
    text += "{\"organization_id\":";
    json::append_string(text, organization);
    text += fmt::format(R"(,"seq":{},"hash":"{}"}})", head.seq, to_hex(head.hash));
  }
  return text + "\n]}\n";
}

Result<> write_saved_heads(const std::string& path, const SavedHeads& heads) {
  const std::string unfinished = path + ".new";
  if (write_whole(unfinished, saved_heads_document(heads)) && std::rename(unfinished.c_str(), path.c_str()) == 0) {
    return {};
  }
  Error error = from_errno("head_file_unwritable", path);
  ::unlink(unfinished.c_str());
  return std::unexpected(std::move(error));
}

}  // namespace sluice::server::audit
