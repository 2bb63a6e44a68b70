#include "common/json/merge_patch.hpp"

#include "common/json/edit.hpp"

namespace sluice::json {
namespace {

void append_merged(std::string& out, const Value* target, const Value& patch) {
  if (patch.type() != Type::object) return append(out, patch);
  out += '{';
  bool first = true;
  if (target != nullptr && target->type() == Type::object) {
    for (const Member& old : target->members()) {
      const Value* const change = patch.find(old.name);
      if (change != nullptr && change->type() == Type::null) continue;
      append_member(out, old.name, first);
      if (change == nullptr) {
        append(out, old.value);
      } else {
        append_merged(out, &old.value, *change);
      }
    }
  }
  for (const Member& added : patch.members()) {
    const bool known = target != nullptr && target->type() == Type::object && target->find(added.name) != nullptr;
    // A duplicate is kept, so that the reader of the document refuses it.
    if ((known && !added.duplicate) || added.value.type() == Type::null) continue;
    append_member(out, added.name, first);
    append_merged(out, nullptr, added.value);
  }
  out += '}';
}

}  // namespace

std::string merged(const Value& target, const Value& patch) {
  std::string out;
  append_merged(out, &target, patch);
  return out;
}

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
    const bool both = old != nullptr && old->type() == Type::object && now.value.type() == Type::object;
    append_member(out, now.name, first);
    out += both ? merge_patch(*old, now.value) : text;
  }
  for (const Member& old : before.members()) {
    if (after.find(old.name) != nullptr) continue;
    append_member(out, old.name, first);
    out += "null";
  }
  return out += '}';
}

}  // namespace sluice::json
