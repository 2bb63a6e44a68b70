#include "common/json/edit.hpp"

#include <algorithm>
#include <vector>

#include "common/json/fields.hpp"
#include "common/json/text.hpp"

namespace sluice::json {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// A tree is at most kMaxDepth levels deep, so the recursion is bounded.
void find_nul(const Value& value, const Place& at, FaultList& faults) {
  switch (value.type()) {
    case Type::string:
      if (has_nul(value.text())) faults.add(at, "contains the character NUL, which cannot be stored: remove it");
      return;
    case Type::array:
      for (std::size_t i = 0; i < value.items().size(); ++i) find_nul(value.items()[i], at.item(i), faults);
      return;
    case Type::object:
      for (const Member& item : value.members()) {
        if (has_nul(item.name))
          faults.add(at, "holds a name with the character NUL, which cannot be stored: remove it");
        find_nul(item.value, at.member(item.name), faults);
      }
      return;
    case Type::null:
    case Type::boolean:
    case Type::number:
      return;
  }
}

}  // namespace

void append_member(std::string& out, std::string_view name, bool& first) {
  if (!first) out += ',';
  first = false;
  append_string(out, name);
  out += ':';
}

void append(std::string& out, const Value& value) {
  switch (value.type()) {
    case Type::null:
      out += "null";
      return;
    case Type::boolean:
      out += value.boolean() ? "true" : "false";
      return;
    case Type::number:
      out += value.text();
      return;
    case Type::string:
      append_string(out, value.text());
      return;
    case Type::array: {
      out += '[';
      bool first = true;
      for (const Value& item : value.items()) {
        if (!first) out += ',';
        first = false;
        append(out, item);
      }
      out += ']';
      return;
    }
    case Type::object: {
      out += '{';
      bool first = true;
      for (const Member& item : value.members()) {
        append_member(out, item.name, first);
        append(out, item.value);
      }
      out += '}';
      return;
    }
  }
}

Value edited(Tree& tree, const Value& object, std::span<const std::string_view> dropped,
             std::span<const Member> added) {
  std::vector<Member> members(added.begin(), added.end());
  for (const Member& item : object.members()) {
    if (std::ranges::find(dropped, item.name) != dropped.end()) continue;
    if (std::ranges::find(added, item.name, &Member::name) != added.end()) continue;
    members.push_back(item);
  }
  return tree.object(members);
}

Faults nul_faults(const Value& document) {
  FaultList faults;
  find_nul(document, Place(), faults);
  return faults.take();
}

}  // namespace sluice::json
