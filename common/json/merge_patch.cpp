#include "common/json/merge_patch.hpp"

#include <vector>

#include "common/json/edit.hpp"

namespace sluice::json {
namespace {

Value merged_with(Tree& tree, const Value* target, const Value& patch) {
  if (patch.type() != Type::object) return patch;
  const Value empty_object(static_cast<Member*>(nullptr), 0);
  const Value& base = target != nullptr && target->type() == Type::object ? *target : empty_object;
  std::vector<Member> members;
  for (const Member& old : base.members()) {
    const Value* const change = patch.find(old.name);
    if (change == nullptr) {
      members.push_back(old);
    } else if (change->type() != Type::null) {
      members.push_back({old.name, merged_with(tree, &old.value, *change)});
    }
  }
  for (const Member& member : patch.members()) {
    // A duplicate member of the patch stays in the result, so that the caller can refuse it.
    const bool done_above = base.find(member.name) != nullptr && !member.duplicate;
    if (done_above || member.value.type() == Type::null) continue;
    members.push_back({member.name, merged_with(tree, nullptr, member.value)});
  }
  return tree.object(members);
}

}  // namespace

Value merged(Tree& tree, const Value& target, const Value& patch) { return merged_with(tree, &target, patch); }

std::string merge_patch(const Value& before, const Value& after) {
  const auto text_of = [](const Value& value) {
    std::string text;
    append(text, value);
    return text;
  };
  std::string out = "{";
  bool first = true;
  for (const Member& now : after.members()) {
    const Value* const old = before.find(now.name);
    std::string text = text_of(now.value);
    if (old != nullptr && text_of(*old) == text) continue;
    const bool both_objects = old != nullptr && old->type() == Type::object && now.value.type() == Type::object;
    append_member(out, now.name, first);
    out += both_objects ? merge_patch(*old, now.value) : text;
  }
  for (const Member& old : before.members()) {
    if (after.find(old.name) != nullptr) continue;
    append_member(out, old.name, first);
    out += "null";
  }
  return out += '}';
}

}  // namespace sluice::json
