#include "common/sync/bundle_of.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <unordered_set>

#include "common/domain/enum_text.hpp"
#include "common/domain/json_fields.hpp"

namespace sluice::sync {
namespace {

// The lists of a bundle by kind; of the settings, none.
constexpr std::array<std::string_view, 6> kLists{"", "organizations", "tenants", "plans", "policies", "keys"};

std::string explained(const ObjectPtr& object, std::string_view text) {
  return fmt::format("{}: {}", describe(object->id()), text);
}

// The text of a bundle out of objects in order, and what its places are about.
class BundleText {
 public:
  BundleText(const ObjectSet& objects, Faults& faults) : faults_(faults) {
    text_.reserve(objects.document_bytes() + objects.size() + 128);
    objects.for_each([this](const ObjectPtr& object) { add(object); });
    text_ += open_list_.empty() ? "}" : "]}";
  }

  const std::string& text() const { return text_; }
  std::span<const ObjectPtr> of(ObjectKind kind) const { return objects_[static_cast<std::size_t>(kind)]; }

  // "/policies/17/match_expr" of the whole is "/match_expr" of the 17th policy.
  Fault located(Fault fault) const {
    fault.line = fault.column = 0;  // of a text that nobody has seen
    for (std::size_t kind = 1; kind < kLists.size(); ++kind) {
      std::string_view rest = fault.pointer;
      if (!rest.starts_with('/') || !rest.substr(1).starts_with(kLists[kind])) continue;
      rest.remove_prefix(1 + kLists[kind].size());
      std::size_t index = 0;
      if (!rest.starts_with('/')) continue;
      const auto [after, code] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
      if (code != std::errc{} || index >= objects_[kind].size()) continue;
      fault.text = explained(objects_[kind][index], fault.text);
      fault.pointer.erase(0, static_cast<std::size_t>(after - fault.pointer.data()));
      break;
    }
    return fault;
  }

 private:
  void add(const ObjectPtr& object) {
    const auto kind = static_cast<std::size_t>(object->id().kind);
    if (text_.empty()) text_ += R"({"format":"sluice/v1")";
    objects_[kind].push_back(object);
    if (object->id().kind == ObjectKind::settings) return add_settings(object);
    const bool begins = open_list_ != kLists[kind];
    if (begins) {
      if (!open_list_.empty()) text_ += ']';
      open_list_ = kLists[kind];
      text_.append(",\"").append(open_list_).append("\":[");
    }
    if (!begins) text_ += ',';
    text_ += object->document();
  }

  // {"mode":"shadow"}: what a bundle has at its top.
  void add_settings(const ObjectPtr& object) {
    JsonTree tree;
    const auto document = tree.parse(object->document());
    if (!document) {
      faults_.push_back({"", explained(object, document.error().text)});
      return;
    }
    FaultList list;
    const Place whole;
    Fields fields(*document, whole, list);
    const auto mode = fields.choice("mode", &mode_from, kModeNames);
    fields.reject_unknown();
    if (mode) text_.append(R"(,"mode":")").append(to_string(*mode)).append("\"");
    for (Fault& fault : list.take()) faults_.push_back({fault.pointer, explained(object, fault.text)});
  }

  std::string text_;
  std::string_view open_list_;
  std::array<std::vector<ObjectPtr>, kLists.size()> objects_;
  Faults& faults_;
};

ObjectIdView named_by(ObjectKind kind, const Organization& item) { return {kind, "", item.id}; }
ObjectIdView named_by(ObjectKind kind, const Tenant& item) { return {kind, "", item.id}; }
ObjectIdView named_by(ObjectKind kind, const auto& item) { return {kind, item.tenant_id, item.id}; }

// A document must be about what it was sent as: by the id it was fetched, checked against the scope, and is removed.
// REQUIRES: as many items as objects.
void check_names(ObjectKind kind, const auto& items, std::span<const ObjectPtr> objects, Faults& faults) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ObjectIdView named = named_by(kind, items[i]);
    if (named == objects[i]->id()) continue;
    faults.push_back({"/id", explained(objects[i], fmt::format("its document is that of {}", describe(named)))});
  }
}

// Where the text as a whole is not JSON: which of the objects is not.
Faults broken_documents(const ObjectSet& objects, const Fault& whole) {
  Faults faults;
  objects.for_each([&](const ObjectPtr& object) {
    JsonTree tree;
    const auto document = tree.parse(object->document());
    if (!document) faults.push_back({"", explained(object, document.error().text)});
  });
  if (faults.empty()) faults.push_back({"", whole.text});
  return faults;
}

// Ids in `document` that lead to other objects.
std::vector<ObjectId> references_of(const Object& object) {
  const ObjectIdView id = object.id();
  if (id.kind <= ObjectKind::organization) return {};
  std::vector<ObjectId> out;
  const std::string tenant_id(id.tenant_id);
  if (id.kind != ObjectKind::tenant) out.push_back({ObjectKind::tenant, "", tenant_id});
  if (id.kind != ObjectKind::tenant && id.kind != ObjectKind::policy) return out;
  JsonTree tree;
  const auto document = tree.parse(object.document());
  if (!document) return out;
  const bool is_policy = id.kind == ObjectKind::policy;
  const JsonValue* const target = document->find(is_policy ? "plan_id" : "organization_id");
  if (target == nullptr || target->type() != JsonType::string) return out;
  const std::string target_id(target->text());
  out.push_back(is_policy ? ObjectId{ObjectKind::plan, tenant_id, target_id}
                          : ObjectId{ObjectKind::organization, "", target_id});
  return out;
}

}  // namespace

std::expected<Bundle, Faults> to_bundle(const ObjectSet& objects, ExpressionCheck check) {
  Faults faults;
  if (objects.size() == 0) return Bundle{};
  const BundleText bundle_text(objects, faults);
  JsonTree tree;
  const auto document = tree.parse(bundle_text.text());
  if (!document) return std::unexpected(broken_documents(objects, document.error()));
  auto bundle = read_bundle(*document, check);
  if (!bundle) {
    for (Fault& fault : bundle.error()) faults.push_back(bundle_text.located(std::move(fault)));
    return std::unexpected(std::move(faults));
  }
  bool one_each = true;
  const auto check_kind = [&](ObjectKind kind, const auto& items) {
    const auto of_kind = bundle_text.of(kind);
    one_each = one_each && items.size() == of_kind.size();
    if (one_each) check_names(kind, items, of_kind, faults);
  };
  check_kind(ObjectKind::organization, bundle->organizations);
  check_kind(ObjectKind::tenant, bundle->tenants);
  check_kind(ObjectKind::plan, bundle->plans);
  check_kind(ObjectKind::policy, bundle->policies);
  check_kind(ObjectKind::key, bundle->keys);
  if (!one_each) return std::unexpected(broken_documents(objects, {"", "a document is not one JSON object"}));
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return bundle;
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
