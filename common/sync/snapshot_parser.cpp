// Reads full snapshots and deltas. The parser first replaces each object's document by {}: a JSON tree of all documents
// would need many times their size in memory.
#include <fmt/core.h>

#include <limits>
#include <span>

#include "common/base/text.hpp"
#include "common/json/fault_place.hpp"
#include "common/json/fields.hpp"
#include "common/json/member_ranges.hpp"
#include "common/sync/snapshot_document.hpp"

namespace sluice::sync {
namespace {

constexpr std::size_t kMaxNameBytes = 256;

std::string without_documents(std::string_view json, std::span<const json::MemberRange> documents) {
  std::string out;
  std::size_t from = 0;
  for (const json::MemberRange& document : documents) {
    const auto at = static_cast<std::size_t>(document.bytes.data() - json.data());
    out.append(json.substr(from, at - from)).append("{}");
    from = at + document.bytes.size();
  }
  return out.append(json.substr(from));
}

class SnapshotReader {
 public:
  explicit SnapshotReader(std::span<const json::MemberRange> documents) : documents_(documents) {}

  std::expected<SnapshotDocument, Faults> read(const json::Value& root) {
    const json::Place whole;
    json::Fields fields(root, whole, faults_);
    if (fields.is_object() && check_format(fields)) read_members(fields);
    if (faults_.count() != 0) return std::unexpected(faults_.take());
    return std::move(out_);
  }

 private:
  bool check_format(json::Fields& fields) {
    fields.require("format", fmt::format("a snapshot starts with \"format\":\"{}\"", kSnapshotFormat));
    const auto format = fields.text("format", kMaxNameBytes);
    if (format && *format != kSnapshotFormat) {
      fields.fault("format",
                   fmt::format("format {} is not known: this version reads \"{}\"", quoted(*format), kSnapshotFormat));
    }
    return format == kSnapshotFormat;
  }

  void read_members(json::Fields& fields) {
    out_.head = read_position(fields);
    const std::string checksum = read_hex_digest(fields, "checksum", "the sum of all objects' hashes");
    if (const auto sum = Checksum::from_hex(checksum)) out_.checksum = *sum;
    out_.since = fields.integer("since", 0, std::numeric_limits<std::int64_t>::max());
    if (out_.since && *out_.since >= out_.head.revision) {
      fields.fault("since",
                   fmt::format("since must be below the revision {}, not {}", out_.head.revision, *out_.since));
    }
    fields.require("objects", "the list of objects, which may be empty");
    fields.each("objects", false, [&](const json::Value& value, const json::Place& at) { read_object(value, at); });
    if (!out_.since && fields.present("removed")) {
      fields.fault("removed", "only a delta (a document with since) may have removed");
    }
    fields.each("removed", false, [&](const json::Value& value, const json::Place& at) { read_removed(value, at); });
  }

  void read_object(const json::Value& value, const json::Place& at) {
    const std::size_t index = index_++;
    const std::size_t faults_before = faults_.count();
    json::Fields fields(value, at, faults_);
    const ObjectId id = read_id(fields);
    fields.require("document", "the object as it stands in a bundle");
    if (const json::Value* const document = fields.take("document");
        document != nullptr && document->type() != json::Type::object) {
      fields.fault("document", json::wrong_type_text("document", *document, "an object"));
    }
    if (faults_.count() == faults_before) out_.objects.push_back(make_object(id.view(), document_of(index)));
  }

  void read_removed(const json::Value& value, const json::Place& at) {
    json::Fields fields(value, at, faults_);
    out_.removed.push_back(read_id(fields));
  }

  ObjectId read_id(json::Fields& fields) {
    const std::size_t faults_before = faults_.count();
    fields.require("kind", synced_names());
    fields.require("tenant_id", "\"\" where the object belongs to no tenant");
    fields.require("id", "the id of the object");
    const auto kind = fields.choice("kind", &synced_kind_from, synced_names());
    const auto tenant_id = fields.text("tenant_id", kMaxNameBytes);
    const auto id = fields.text("id", kMaxNameBytes);
    if (!kind || !tenant_id || !id || faults_.count() != faults_before) return {};
    if (auto wrong = check_id({*kind, *tenant_id, *id})) fields.fault(wrong->member, std::move(wrong->text));
    return {.kind = *kind, .tenant_id = std::string(*tenant_id), .id = std::string(*id)};
  }

  // REQUIRES: item `index` of `objects` has no faults, so it has exactly one document.
  std::string_view document_of(std::size_t index) {
    while (next_ < documents_.size() && documents_[next_].item < index) ++next_;
    return next_ < documents_.size() ? documents_[next_].bytes : std::string_view();
  }

  std::span<const json::MemberRange> documents_;
  std::size_t next_ = 0;   // index into documents_
  std::size_t index_ = 0;  // index of the next item of `objects`
  json::FaultList faults_;
  SnapshotDocument out_;
};

}  // namespace

std::expected<SnapshotDocument, Faults> parse_snapshot(std::string_view json) {
  if (json.size() > kMaxSnapshotBytes) {
    return std::unexpected(Faults{{"", fmt::format("the snapshot is larger than {} MiB", kMaxSnapshotBytes >> 20)}});
  }
  const auto documents = json::find_members(json, "objects", "document");
  if (!documents) return std::unexpected(Faults{documents.error()});
  json::Tree tree;
  const std::string frame = without_documents(json, *documents);
  const auto root = tree.parse(frame);
  // The fault's line number is left out, because it counts the lines of `frame` and not of `json`.
  if (!root) return std::unexpected(Faults{{"", root.error().text}});
  auto snapshot = SnapshotReader(*documents).read(*root);
  if (!snapshot) json::locate_faults(json, snapshot.error());
  return snapshot;
}

}  // namespace sluice::sync
