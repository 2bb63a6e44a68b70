#include <fmt/format.h>

#include "common/json/text.hpp"
#include "common/sync/snapshot_document.hpp"

namespace sluice::sync {
namespace {

constexpr std::size_t kHeadBytes = 256;
constexpr std::size_t kMemberBytes = 96;  // estimated size of an item without its ids and document

// Writes a list as a JSON member, one item per line.
class Items {
 public:
  Items(std::string& out, std::string_view name) : out_(out) { out_.append(",\n\"").append(name).append("\":["); }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;
  ~Items() { out_ += ']'; }

  // The caller writes the item's other members and the closing brace.
  void begin(const ObjectIdView& id) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    out_.append(R"({"kind":")").append(info(id.kind).sync_name).append(R"(","tenant_id":)");
    json::append_string(out_, id.tenant_id);
    out_ += R"(,"id":)";
    json::append_string(out_, id.id);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void write(Items& items, const Object& object, std::string& out) {
  items.begin(object.id());
  out.append(R"(,"document":)").append(object.document()).append("}");
}

void write_head(std::string& out, const Position& head, const Checksum& checksum) {
  fmt::format_to(std::back_inserter(out), R"({{"format":"{}","revision":{},"chain":"{}","checksum":"{}")",
                 kSnapshotFormat, head.revision, head.chain, checksum.hex());
}

}  // namespace

std::string write_snapshot(const Position& head, const ObjectSet& objects) {
  std::string out;
  out.reserve(kHeadBytes + objects.document_bytes() + objects.size() * kMemberBytes);
  write_head(out, head, objects.checksum());
  {
    Items items(out, "objects");
    objects.for_each([&](const ObjectPtr& object) { write(items, *object, out); });
  }
  return out += "}\n";
}

std::string write_delta(std::int64_t since, const Position& head, const ObjectSet& objects,
                        std::span<const ObjectChange> changes) {
  std::string out;
  write_head(out, head, objects.checksum());
  fmt::format_to(std::back_inserter(out), R"(,"since":{})", since);
  {
    Items items(out, "objects");
    for (const ObjectChange& change : changes) {
      if (change.after) write(items, *change.after, out);
    }
  }
  {
    Items items(out, "removed");
    for (const ObjectChange& change : changes) {
      if (change.after) continue;
      items.begin(change.id());
      out += '}';
    }
  }
  return out += "}\n";
}

}  // namespace sluice::sync
