#include "server/sync/older_agents.hpp"

#include <array>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/tree.hpp"

namespace sluice::server::sync {
namespace {

struct NewerField {
  Kind kind;
  std::string_view name;
};

// The fields since the release before agents ignored unknown ones, and `require_key_by`. Do not add later fields.
constexpr std::array kNewerFields{
    NewerField{Kind::tenant, "trailing_slash"}, NewerField{Kind::plan, "expose"},
    NewerField{Kind::policy, "expose"},         NewerField{Kind::plan, "max_override"},
    NewerField{Kind::policy, "max_override"},   NewerField{Kind::key, "may_override"},
    NewerField{Kind::plan, "require_key_by"},   NewerField{Kind::policy, "require_key_by"},
};

constexpr std::string_view kRequireKeyBy = "require_key_by";

bool may_have(const sluice::sync::Object& object, const NewerField& field) {
  return object.id().kind == field.kind && object.document().find(field.name) != std::string_view::npos;
}

bool is_left_out(const NewerField& field, const json::Value& document) {
  if (document.find(field.name) == nullptr) return false;
  return field.name != kRequireKeyBy || document.find("key_by") == nullptr;
}

}  // namespace

sluice::sync::ObjectPtr without_newer_fields(const sluice::sync::ObjectPtr& object) {
  std::string text;
  for (const NewerField& field : kNewerFields) {
    if (!may_have(*object, field)) continue;
    json::Tree tree;
    const auto document = tree.parse(text.empty() ? object->document() : std::string_view(text));
    if (!document || !is_left_out(field, *document)) continue;
    std::string shorter;
    json::append(shorter, json::edited(tree, *document, {&field.name, 1}));
    text = std::move(shorter);
  }
  return text.empty() ? object : sluice::sync::make_object(object->id(), text);
}

}  // namespace sluice::server::sync
