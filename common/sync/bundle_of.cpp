#include "common/sync/bundle_of.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "common/objects/bundle_builder.hpp"
#include "common/objects/bundle_json.hpp"

namespace sluice::sync {
namespace {

// Reads the documents of objects into a bundle. REQUIRES: count() for each object, then begin() once, then read() for
// each object, in the order of ids.
class ObjectsReader {
 public:
  ObjectsReader(ExpressionCheck check, NewerFields* newer) : builder_(check), newer_(newer) {
    builder_.faults().ignore_unknown(newer != nullptr);
  }

  void count(Kind kind) { ++counts_[static_cast<std::size_t>(kind)]; }
  void begin() {
    for (const Kind kind : kAllKinds) builder_.expect(kind, counts_[static_cast<std::size_t>(kind)]);
  }

  void read(const ObjectView& object) {
    tree_.clear();
    read(object, tree_.parse(object.document));
  }
  void read(const ObjectView& object, const std::expected<json::Value, Fault>& document) {
    if (!document) return fault(object, "", document.error().text);
    const json::Place whole;
    builder_.read(object.id.kind, *document, whole);
    Faults faults = builder_.faults().take();
    for (const Fault& found : faults) fault(object, found.pointer, found.text);
    if (faults.empty()) check_document_id(object);
    if (newer_ == nullptr) return;
    for (Fault& found : builder_.faults().take_unknown()) {
      const ObjectId id{object.id.kind, std::string(object.id.tenant_id), std::string(object.id.id)};
      newer_->push_back({id, std::move(found.pointer)});
    }
  }

  std::expected<Bundle, Faults> take() {
    if (!faults_.empty()) return std::unexpected(std::move(faults_));
    return builder_.take();
  }

 private:
  void fault(const ObjectView& object, std::string pointer, std::string_view text) {
    if (faults_.size() == json::FaultList::kMaxFaults) return;
    faults_.push_back({std::move(pointer), fmt::format("{}: {}", describe(object.id), text)});
  }

  // A document must have the id under which it was sent, because a later delta removes the object by that id.
  void check_document_id(const ObjectView& object) {
    const ObjectIdView named = builder_.last(object.id.kind);
    if (named != object.id) fault(object, "/id", fmt::format("its document is that of {}", describe(named)));
  }

  std::array<std::size_t, kKinds> counts_{};
  BundleBuilder builder_;
  NewerFields* newer_;
  json::Tree tree_;
  Faults faults_;
};

std::vector<ObjectId> references_of(const ObjectIdView& id, const json::Value& document) {
  std::vector<ObjectId> out;
  const std::string tenant_id(id.tenant_id);
  for (const Reference& reference : info(id.kind).references) {
    if (reference.to == Kind::tenant) {
      out.push_back({Kind::tenant, "", tenant_id});
      continue;
    }
    const std::string_view target = document.text_of(reference.member);
    if (target.empty()) continue;
    out.push_back({reference.to, info(reference.to).in_tenant() ? tenant_id : "", std::string(target)});
  }
  return out;
}

}  // namespace

std::expected<Bundle, Faults> to_bundle(const ObjectSet& objects, ExpressionCheck check, NewerFields* newer) {
  ObjectsReader reader(check, newer);
  objects.for_each([&](const ObjectPtr& object) { reader.count(object->id().kind); });
  reader.begin();
  objects.for_each([&](const ObjectPtr& object) { reader.read(view_of(*object)); });
  return reader.take();
}

std::expected<Bundle, Faults> to_bundle(std::span<const ObjectView> objects, ExpressionCheck check,
                                        NewerFields* newer) {
  ObjectsReader reader(check, newer);
  for (const ObjectView& object : objects) reader.count(object.id.kind);
  reader.begin();
  for (const ObjectView& object : objects) reader.read(object);
  return reader.take();
}

std::expected<Bundle, Faults> to_bundle_part(const ObjectSet& objects, std::span<const ObjectPtr> wanted,
                                             ExpressionCheck check, NewerFields* newer) {
  struct Parsed {
    ObjectPtr object;
    std::expected<json::Value, Fault> document;
  };
  json::Tree tree;
  std::vector<Parsed> part;
  std::vector<ObjectPtr> to_visit(wanted.begin(), wanted.end());
  if (auto settings = objects.find({Kind::setting, "", ""})) to_visit.push_back(std::move(settings));
  std::unordered_set<const Object*> seen;
  while (!to_visit.empty()) {
    ObjectPtr object = std::move(to_visit.back());
    to_visit.pop_back();
    if (!seen.insert(object.get()).second) continue;
    auto document = tree.parse(object->document());
    for (const ObjectId& id : references_of(object->id(), document.value_or(json::Value()))) {
      if (auto target = objects.find(id.view())) to_visit.push_back(std::move(target));
    }
    part.push_back({std::move(object), std::move(document)});
  }
  std::ranges::sort(part, {}, [](const Parsed& parsed) { return parsed.object->id(); });
  ObjectsReader reader(check, newer);
  for (const Parsed& parsed : part) reader.count(parsed.object->id().kind);
  reader.begin();
  for (const Parsed& parsed : part) reader.read(view_of(*parsed.object), parsed.document);
  return reader.take();
}

}  // namespace sluice::sync
