#include "server/admin/json_edit.hpp"

#include <algorithm>

#include "common/base/json_text.hpp"
#include "common/domain/json_fields.hpp"

namespace sluice::server {
namespace {

void append_member(std::string& out, std::string_view name, bool& first) {
  if (!first) out += ',';
  first = false;
  append_json_string(out, name);
  out += ':';
}

void append_merged(std::string& out, const JsonValue* target, const JsonValue& patch) {
  if (patch.type() != JsonType::object) return append_json(out, patch);
  out += '{';
  bool first = true;
  if (target != nullptr && target->type() == JsonType::object) {
    for (const JsonMember& old : target->members()) {
      const JsonValue* const change = member(patch, old.name);
      if (change != nullptr && change->type() == JsonType::null) continue;
      append_member(out, old.name, first);
      if (change == nullptr) {
        append_json(out, old.value);
      } else {
        append_merged(out, &old.value, *change);
      }
    }
  }
  for (const JsonMember& added : patch.members()) {
    const bool known =
        target != nullptr && target->type() == JsonType::object && member(*target, added.name) != nullptr;
    // A duplicate goes on, so that it is refused where the document is read.
    if ((known && !added.duplicate) || added.value.type() == JsonType::null) continue;
    append_member(out, added.name, first);
    append_merged(out, nullptr, added.value);
  }
  out += '}';
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// Not deeper than a JsonTree is.
void find_nul(const JsonValue& value, const Place& at, FaultList& faults) {
  switch (value.type()) {
    case JsonType::string:
      if (has_nul(value.text())) faults.add(at, "holds the character NUL, which cannot be stored: remove it");
      return;
    case JsonType::array:
      for (std::size_t i = 0; i < value.items().size(); ++i) find_nul(value.items()[i], at.item(i), faults);
      return;
    case JsonType::object:
      for (const JsonMember& item : value.members()) {
        if (has_nul(item.name))
          faults.add(at, "holds a name with the character NUL, which cannot be stored: remove it");
        find_nul(item.value, at.member(item.name), faults);
      }
      return;
    case JsonType::null:
    case JsonType::boolean:
    case JsonType::number:
      return;
  }
}

}  // namespace

void append_json(std::string& out, const JsonValue& value) {
  switch (value.type()) {
    case JsonType::null:
      out += "null";
      return;
    case JsonType::boolean:
      out += value.boolean() ? "true" : "false";
      return;
    case JsonType::number:
      out += value.text();
      return;
    case JsonType::string:
      append_json_string(out, value.text());
      return;
    case JsonType::array: {
      out += '[';
      bool first = true;
      for (const JsonValue& item : value.items()) {
        if (!first) out += ',';
        first = false;
        append_json(out, item);
      }
      out += ']';
      return;
    }
    case JsonType::object: {
      out += '{';
      bool first = true;
      for (const JsonMember& item : value.members()) {
        append_member(out, item.name, first);
        append_json(out, item.value);
      }
      out += '}';
      return;
    }
  }
}

const JsonValue* member(const JsonValue& object, std::string_view name) { return object.find(name); }

std::string_view text_member(const JsonValue& object, std::string_view name) {
  const JsonValue* const found = member(object, name);
  return found != nullptr && found->type() == JsonType::string ? found->text() : std::string_view();
}

std::string edited(const JsonValue& object, std::span<const std::string_view> dropped,
                   std::span<const NamedText> added) {
  std::string out = "{";
  bool first = true;
  for (const auto& [name, text] : added) {
    append_member(out, name, first);
    out += text;
  }
  for (const JsonMember& item : object.members()) {
    if (std::ranges::find(dropped, item.name) != dropped.end()) continue;
    if (std::ranges::find(added, item.name, &NamedText::first) != added.end()) continue;
    append_member(out, item.name, first);
    append_json(out, item.value);
  }
  return out += '}';
}

std::string merged(const JsonValue& target, const JsonValue& patch) {
  std::string out;
  append_merged(out, &target, patch);
  return out;
}

Faults nul_faults(const JsonValue& document) {
  FaultList faults;
  find_nul(document, Place(), faults);
  return faults.take();
}

std::string merge_patch(const JsonValue& before, const JsonValue& after) {
  const auto text_of = [](const JsonValue& value) {
    std::string text;
    append_json(text, value);
    return text;
  };
  std::string out = "{";
  bool first = true;
  for (const JsonMember& now : after.members()) {
    const JsonValue* const old = member(before, now.name);
    std::string text = text_of(now.value);
    if (old != nullptr && text_of(*old) == text) continue;
    const bool both = old != nullptr && old->type() == JsonType::object && now.value.type() == JsonType::object;
    append_member(out, now.name, first);
    out += both ? merge_patch(*old, now.value) : text;
  }
  for (const JsonMember& old : before.members()) {
    if (member(after, old.name) != nullptr) continue;
    append_member(out, old.name, first);
    out += "null";
  }
  return out += '}';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace sluice::server
