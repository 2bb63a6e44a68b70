#include "common/sync/bundle_of.hpp"

#include <fmt/core.h>

#include <array>
#include <string>
#include <unordered_set>

#include "common/domain/bundle_reader.hpp"
#include "common/domain/enum_text.hpp"

namespace sluice::sync {
namespace {

// Reads objects in their order, which is that of a bundle's reader; a document's tree is there while it is read.
class ObjectsReader {
 public:
  explicit ObjectsReader(ExpressionCheck check) : reader_(check) {}

  // All are counted before the first is read.
  void count(ObjectKind kind) { ++counts_[static_cast<std::size_t>(kind)]; }
  void begin() {
    reader_.expect_tenants(counted(ObjectKind::tenant));
    reader_.expect_policies(counted(ObjectKind::policy));
    reader_.expect_keys(counted(ObjectKind::key));
  }

  void read(const ObjectView& object) {
    tree_.clear();
    const auto document = tree_.parse(object.document);
    if (!document) return fault(object, "", document.error().text);
    const json::Place whole;
    read_document(object.id.kind, *document, whole);
    Faults faults = reader_.faults().take();
    for (const Fault& found : faults) fault(object, found.pointer, found.text);
    if (faults.empty()) check_name(object);
  }

  std::expected<Bundle, Faults> take() {
    if (!faults_.empty()) return std::unexpected(std::move(faults_));
    return reader_.take();
  }

 private:
  std::size_t counted(ObjectKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

  void fault(const ObjectView& object, std::string pointer, std::string_view text) {
    if (faults_.size() == json::FaultList::kMaxFaults) return;  // nobody reads more
    faults_.push_back({std::move(pointer), fmt::format("{}: {}", describe(object.id), text)});
  }

  void read_document(ObjectKind kind, const json::Value& document, const json::Place& at) {
    switch (kind) {
      case ObjectKind::settings:
        return read_settings(document, at);
      case ObjectKind::organization:
        return reader_.read_organization(document, at);
      case ObjectKind::tenant:
        return reader_.read_tenant(document, at);
      case ObjectKind::plan:
        return reader_.read_plan(document, at);
      case ObjectKind::policy:
        return reader_.read_policy(document, at);
      case ObjectKind::key:
        return reader_.read_key(document, at);
    }
  }

  // {"mode":"shadow"}: what a bundle has at its top.
  void read_settings(const json::Value& document, const json::Place& at) {
    json::Fields fields(document, at, reader_.faults());
    const auto mode = fields.choice("mode", &mode_from, kModeNames);
    fields.reject_unknown();
    if (mode) reader_.set_mode(*mode);
  }

  // A document must be about what it was sent as: by the id it was fetched, checked against the scope, and is removed.
  void check_name(const ObjectView& object) {
    const ObjectIdView named = last_read(object.id.kind);
    if (named != object.id) fault(object, "/id", fmt::format("its document is that of {}", describe(named)));
  }

  ObjectIdView last_read(ObjectKind kind) const {
    const Bundle& bundle = reader_.bundle();
    switch (kind) {
      case ObjectKind::settings:
        return {kind, "", ""};
      case ObjectKind::organization:
        return {kind, "", bundle.organizations.back().id};
      case ObjectKind::tenant:
        return {kind, "", bundle.tenants.back().id};
      case ObjectKind::plan:
        return {kind, bundle.plans.back().tenant_id, bundle.plans.back().id};
      case ObjectKind::policy:
        return {kind, bundle.policies.back().tenant_id, bundle.policies.back().id};
      case ObjectKind::key:
        return {kind, bundle.keys.back().tenant_id, bundle.keys.back().id};
    }
    return {};
  }

  std::array<std::size_t, kObjectKinds> counts_{};
  BundleReader reader_;
  json::Tree tree_;
  Faults faults_;
};

// Ids in `document` that lead to other objects.
std::vector<ObjectId> references_of(const Object& object) {
  const ObjectIdView id = object.id();
  if (id.kind <= ObjectKind::organization) return {};
  std::vector<ObjectId> out;
  const std::string tenant_id(id.tenant_id);
  if (id.kind != ObjectKind::tenant) out.push_back({ObjectKind::tenant, "", tenant_id});
  if (id.kind != ObjectKind::tenant && id.kind != ObjectKind::policy) return out;
  json::Tree tree;
  const auto document = tree.parse(object.document());
  if (!document) return out;
  const bool is_policy = id.kind == ObjectKind::policy;
  const json::Value* const target = document->find(is_policy ? "plan_id" : "organization_id");
  if (target == nullptr || target->type() != json::Type::string) return out;
  const std::string target_id(target->text());
  out.push_back(is_policy ? ObjectId{ObjectKind::plan, tenant_id, target_id}
                          : ObjectId{ObjectKind::organization, "", target_id});
  return out;
}

}  // namespace

std::expected<Bundle, Faults> to_bundle(const ObjectSet& objects, ExpressionCheck check) {
  ObjectsReader reader(check);
  objects.for_each([&](const ObjectPtr& object) { reader.count(object->id().kind); });
  reader.begin();
  objects.for_each([&](const ObjectPtr& object) { reader.read(view_of(*object)); });
  return reader.take();
}

std::expected<Bundle, Faults> to_bundle(std::span<const ObjectView> objects, ExpressionCheck check) {
  ObjectsReader reader(check);
  for (const ObjectView& object : objects) reader.count(object.id.kind);
  reader.begin();
  for (const ObjectView& object : objects) reader.read(object);
  return reader.take();
}

std::expected<Bundle, Faults> to_bundle_part(const ObjectSet& objects, std::span<const ObjectPtr> wanted,
                                             ExpressionCheck check) {
  std::vector<Edit> part;
  std::vector<ObjectPtr> open(wanted.begin(), wanted.end());
  if (auto settings = objects.find({ObjectKind::settings, "", ""})) open.push_back(std::move(settings));
  std::unordered_set<const Object*> seen;
  while (!open.empty()) {
    const ObjectPtr object = std::move(open.back());
    open.pop_back();
    if (!seen.insert(object.get()).second) continue;
    for (const ObjectId& id : references_of(*object)) {
      if (auto target = objects.find(id.view())) open.push_back(std::move(target));
    }
    part.emplace_back(object);
  }
  return to_bundle(ObjectSet().with(std::move(part)), check);
}

}  // namespace sluice::sync
