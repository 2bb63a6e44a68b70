// Any bytes as what a peer may send: a snapshot, a watch line, a report, a reply; or as what stands on an agent's disk.
// No crash; what is refused says why; what is accepted is in range and survives being written and read again; a
// document's bytes are those that were sent, as an independent reader finds them; and whatever is applied adds up.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "common/sync/bundle_of.hpp"
#include "common/sync/report.hpp"
#include "common/sync/saved_state.hpp"
#include "common/sync/scope_state.hpp"
#include "common/sync/watch_line.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;
using namespace sluice::sync;

void require_explained(const Faults& faults) {
  REQUIRE_THAT(!faults.empty());
  for (const Fault& fault : faults) {
    REQUIRE_THAT(fault.pointer.empty() || fault.pointer.front() == '/');
    REQUIRE_THAT(!fault.text.empty());
  }
}

bool same(const json::Value& a, const json::Value& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case json::Type::null:
      return true;
    case json::Type::boolean:
      return a.boolean() == b.boolean();
    case json::Type::number:
    case json::Type::string:
      return a.text() == b.text();
    case json::Type::array:
      if (a.items().size() != b.items().size()) return false;
      for (std::size_t i = 0; i < a.items().size(); ++i) {
        if (!same(a.items()[i], b.items()[i])) return false;
      }
      return true;
    case json::Type::object:
      if (a.members().size() != b.members().size()) return false;
      for (std::size_t i = 0; i < a.members().size(); ++i) {
        if (a.members()[i].name != b.members()[i].name) return false;
        if (!same(a.members()[i].value, b.members()[i].value)) return false;
      }
      return true;
  }
  return false;
}

// The bytes kept as a document mean what the whole text has there.
void require_documents(std::string_view text, const SnapshotDocument& read) {
  json::Tree whole;
  const auto root = whole.parse(text);
  if (!root) return;  // half of a surrogate pair in a document: seen when that is read
  const json::Value* const objects = root->find("objects");
  REQUIRE_THAT(objects != nullptr && objects->items().size() == read.objects.size());
  for (std::size_t i = 0; i < read.objects.size(); ++i) {
    REQUIRE_THAT(text.find(read.objects[i]->document()) != std::string_view::npos);
    json::Tree tree;
    const auto document = tree.parse(read.objects[i]->document());
    REQUIRE_THAT(document && same(*document, *objects->items()[i].find("document")));
  }
}

void require_applies(SnapshotDocument read) {
  ScopeState before;
  if (read.since) before.head.revision = *read.since;
  // With the checksum that its objects have, the document is refused for nothing but objects given twice.
  const auto first = read.since ? apply(before, read) : replace(before, read);
  if (!first && first.error().code == "duplicate_object") return;
  REQUIRE_THAT(first || first.error().code == "checksum_mismatch");
  const ObjectSet objects = ObjectSet().with(std::vector<Edit>(read.objects.begin(), read.objects.end()));
  read.checksum = objects.checksum();
  const auto applied = read.since ? apply(before, read) : replace(before, read);
  REQUIRE_THAT(applied && applied->state.objects.size() == read.objects.size());
  REQUIRE_THAT(applied->changes.size() == read.objects.size());
  const std::string text = write_snapshot(read.head, objects);
  const auto again = parse_snapshot(text);
  REQUIRE_THAT(again && again->head == read.head && again->checksum == objects.checksum());
  const auto reread = replace(applied->state, *again);
  REQUIRE_THAT(reread && reread->changes.empty());
  if (const auto bundle = to_bundle(objects); !bundle) require_explained(bundle.error());
}

void try_snapshot(std::string_view text) {
  auto read = parse_snapshot(text);
  if (!read) return require_explained(read.error());
  for (const ObjectPtr& object : read->objects) REQUIRE_THAT(!check_id(object->id()));
  for (const ObjectId& id : read->removed) REQUIRE_THAT(!check_id(id.view()));
  REQUIRE_THAT(is_chain(read->head.chain) && read->head.revision >= 0);
  REQUIRE_THAT(!read->since || *read->since < read->head.revision);
  REQUIRE_THAT(read->since || read->removed.empty());
  require_documents(text, *read);
  require_applies(std::move(*read));
}

void try_saved_state(std::string_view text) {
  const auto read = read_state(text);
  if (!read) {
    REQUIRE_THAT(!read.error().text.empty());
    return;
  }
  for (const ObjectView& object : read->objects) REQUIRE_THAT(!check_id(object.id));
  const ScopeState state = restore(*read);
  const std::string written = write_state(state);
  const auto again = read_state(written);
  REQUIRE_THAT(again && again->head == read->head && difference(restore(*again).objects, state.objects).empty());
}

void try_watch_line(std::string_view text) {
  const auto read = parse_watch_line(text);
  if (!read) return require_explained(read.error());
  const std::string written = std::visit([](const auto& line) { return write_line(line); }, *read);
  REQUIRE_THAT(written.find('\n') == written.size() - 1);
  REQUIRE_THAT(*parse_watch_line(std::string_view(written).substr(0, written.size() - 1)) == *read);
}

void try_report(std::string_view text) {
  const auto read = parse_report(text);
  if (!read) return require_explained(read.error());
  const auto again = parse_report(write_report(read->agent, read->reports));
  REQUIRE_THAT(again && *again == *read);
}

void try_reply(std::string_view text) {
  const auto read = parse_report_reply(text);
  if (!read) return require_explained(read.error());
  REQUIRE_THAT(*read >= 0 && *parse_report_reply(write_report_reply(*read)) == *read);
}

// However a stream is cut into pieces, its lines are the same.
void try_splitting(std::string_view text) {
  std::vector<std::string> at_once;
  std::vector<std::string> in_pieces;
  LineSplitter one;
  LineSplitter other;
  REQUIRE_THAT(one.feed(text, at_once));
  const std::size_t half = text.size() / 2;
  REQUIRE_THAT(other.feed(text.substr(0, half), in_pieces));
  REQUIRE_THAT(other.feed(text.substr(half), in_pieces));
  REQUIRE_THAT(at_once == in_pieces && one.unfinished() == other.unfinished());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_snapshot(text);
  try_watch_line(text);
  try_report(text);
  try_reply(text);
  try_splitting(text);
  try_saved_state(text);
  return 0;
}
