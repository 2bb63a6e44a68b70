#include "common/openapi/schema.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/core.h>

#include "common/base/duration.hpp"
#include "common/json/edit.hpp"
#include "common/json/writer.hpp"

namespace sluice::openapi {
namespace {

using json::Field;
using json::Type;
using json::Value;

// The members of a schema that say how to complete it (schema.hpp).
constexpr std::array<std::string_view, 7> kDirectives{"fields",     "form",    "required", "nullable",
                                                      "properties", "choices", "page_of"};

bool holds(const Value* list, std::string_view text) {
  return list != nullptr && std::ranges::any_of(list->items(), [&](const Value& item) { return item.text() == text; });
}

bool admits_null(const Value& schema) {
  const Value* const type = schema.find("type");
  if (type != nullptr) return type->type() == Type::array ? holds(type, "null") : type->text() == "null";
  for (const char* keyword : {"oneOf", "anyOf"}) {
    const Value* const ways = schema.find(keyword);
    if (ways != nullptr && std::ranges::any_of(ways->items(), admits_null)) return true;
  }
  return false;
}

bool is_plain(const Value& schema) {
  const std::string_view type = schema.text_of("type");
  return (type == "string" || type == "integer" || type == "number") && schema.find("enum") == nullptr;
}

// Splits choices such as "enforce (on), off". Aliases stand in parentheses.
std::vector<std::string> values_of(std::string_view choices, bool with_aliases) {
  std::vector<std::string> values;
  while (!choices.empty()) {
    const std::size_t comma = std::min(choices.find(", "), choices.size());
    const std::string_view choice = choices.substr(0, comma);
    choices.remove_prefix(std::min(comma + 2, choices.size()));
    const std::size_t alias = choice.find(" (");
    values.emplace_back(choice.substr(0, alias));
    if (with_aliases && alias != std::string_view::npos) {
      values.emplace_back(choice.substr(alias + 2, choice.size() - alias - 3));
    }
  }
  return values;
}

class SchemaWriter {
 public:
  SchemaWriter(const Value& schemas, std::span<const json::FieldTable> tables) : schemas_(schemas), tables_(tables) {}

  std::string write() {
    out_.begin_object();
    for (const json::Member& schema : schemas_.members()) member(schema.name, schema.value);
    out_.end_object();
    return out_.take();
  }

 private:
  void member(std::string_view name, const Value& value) {
    out_.key(name);
    any(value);
  }

  void any(const Value& value) {
    if (value.type() == Type::object) return object(value);
    if (value.type() == Type::array) {
      out_.begin_list();
      for (const Value& item : value.items()) any(item);
      return out_.end_list();
    }
    std::string text;
    json::append(text, value);
    out_.raw(text);
  }

  void object(const Value& schema) {
    out_.begin_object();
    const std::string_view fields = schema.text_of("fields");
    const std::string_view choices = schema.text_of("choices");
    const std::string_view item = schema.text_of("page_of");
    const bool completed = !fields.empty() || !choices.empty() || !item.empty();
    for (const json::Member& each : schema.members()) {
      if (!completed || std::ranges::find(kDirectives, each.name) == kDirectives.end()) member(each.name, each.value);
    }
    if (!fields.empty()) properties(table(fields), schema);
    if (!choices.empty()) choice(choices, schema.text_of("form") == "body");
    if (!item.empty()) page_of(item);
    out_.end_object();
  }

  void page_of(std::string_view item) {
    out_.field("type", "object");
    out_.field("additionalProperties", false);
    out_.key("required");
    out_.texts({"items", "next"});
    out_.key("properties");
    out_.begin_object();
    out_.key("items");
    out_.begin_object();
    out_.field("type", "array");
    out_.key("items");
    reference(item);
    out_.end_object();
    out_.key("next");
    reference("Next");
    out_.end_object();
  }

  void properties(const json::FieldTable& table, const Value& schema) {
    const bool document = schema.text_of("form") == "document";
    const Value* const own = schema.find("properties");
    const Value* const required = schema.find("required");
    const bool nullable = !document && schema.find("nullable") == nullptr;
    out_.field("type", "object");
    std::vector<std::string> required_names;
    if (required != nullptr) {
      for (const Value& name : required->items()) required_names.emplace_back(name.text());
    }
    if (document) {
      for (const Field& field : table.fields) {
        if (field.always) required_names.emplace_back(field.name);
      }
    }
    if (!required_names.empty()) {
      out_.key("required");
      out_.texts(required_names);
    }
    out_.key("properties");
    out_.begin_object();
    for (const Field& field : table.fields) {
      if (document && field.body_only) continue;
      const Value* const instead = own == nullptr ? nullptr : own->find(field.name);
      if (instead != nullptr) {
        member(field.name, *instead);
      } else {
        property(field, document, nullable && !holds(required, field.name));
      }
    }
    if (own != nullptr) {
      for (const json::Member& each : own->members()) {
        if (std::ranges::find(table.fields, each.name, &Field::name) == table.fields.end()) {
          member(each.name, each.value);
        }
      }
    }
    out_.end_object();
  }

  // The property refers to the schema that the field names. If null must be added: a plain schema is copied with null
  // as a second type, and any other schema becomes an anyOf of a reference to it and null.
  void property(const Field& field, bool document, bool nullable) {
    const std::string_view component = document || field.body_schema.empty() ? field.schema : field.body_schema;
    const Value* const schema = component.empty() ? nullptr : &this->component(component);
    const bool copied = schema != nullptr && nullable && is_plain(*schema) && !admits_null(*schema);
    std::string description = describe(field, document);
    if (description.empty() && copied) description = schema->text_of("description");
    out_.key(field.name);
    out_.begin_object();
    out_.optional_field("description", description);
    if (schema == nullptr) {
      own_type(field, document, nullable);
    } else if (copied) {
      type(schema->text_of("type"), true);
      for (const json::Member& each : schema->members()) {
        if (each.name != "type" && each.name != "description" && each.name != "examples") member(each.name, each.value);
      }
    } else if (nullable && !admits_null(*schema)) {
      out_.key("anyOf");
      out_.begin_list();
      reference(component);
      out_.begin_object();
      out_.field("type", "null");
      out_.end_object();
      out_.end_list();
    } else {
      out_.field("$ref", path_of(component));
    }
    out_.end_object();
  }

  static std::string describe(const Field& field, bool document) {
    std::string text(field.help);
    const auto add = [&text](const std::string& sentence) { text += (text.empty() ? "" : " ") + sentence; };
    if (field.type == Field::Type::duration && !document) {
      add(fmt::format("From {} to {}.", format_duration(std::chrono::microseconds(field.min)),
                      format_duration(std::chrono::microseconds(field.max))));
    }
    if (!field.fallback.empty()) {
      add(document ? fmt::format("Left out if it is {}.", field.fallback)
                   : fmt::format("Default: {}.", field.fallback));
    }
    return text;
  }

  void own_type(const Field& field, bool document, bool nullable) {
    switch (field.type) {
      case Field::Type::text:
        type("string", nullable);
        if (!field.choices.empty()) return values(field.choices, !document);
        if (field.min > 0) out_.field("minLength", field.min);
        return out_.field("maxLength", field.max);
      case Field::Type::boolean:
        return type("boolean", nullable);
      case Field::Type::integer:
        type("integer", nullable);
        if (field.max > std::numeric_limits<std::int32_t>::max()) out_.field("format", "int64");
        break;
      case Field::Type::number:
        type("number", nullable);
        if (field.places >= 0) out_.field("multipleOf", std::pow(10, -field.places));
        break;
      case Field::Type::duration:
      case Field::Type::timestamp:
      case Field::Type::other:
        throw std::logic_error(fmt::format("the field {} names no schema", field.name));
    }
    out_.field("minimum", field.min);
    out_.field("maximum", field.max);
  }

  void type(std::string_view name, bool nullable) {
    if (!nullable) return out_.field("type", name);
    out_.key("type");
    out_.texts({std::string(name), "null"});
  }

  void choice(std::string_view path, bool with_aliases) {
    const std::size_t dot = std::min(path.rfind('.'), path.size());
    const json::FieldTable& owner = table(path.substr(0, dot));
    const auto field = std::ranges::find(owner.fields, path.substr(std::min(dot + 1, path.size())), &Field::name);
    if (field == owner.fields.end()) throw std::logic_error(fmt::format("there is no field {}", path));
    out_.field("type", "string");
    values(field->choices, with_aliases);
  }

  void values(std::string_view choices, bool with_aliases) {
    const std::vector<std::string> all = values_of(choices, with_aliases);
    if (all.size() == 1) return out_.field("const", all.front());
    out_.key("enum");
    out_.texts(all);
  }

  void reference(std::string_view component) {
    out_.begin_object();
    out_.field("$ref", path_of(component));
    out_.end_object();
  }

  static std::string path_of(std::string_view component) { return fmt::format("#/components/schemas/{}", component); }

  const json::FieldTable& table(std::string_view name) const {
    const auto found = std::ranges::find(tables_, name, &json::FieldTable::name);
    if (found == tables_.end()) throw std::logic_error(fmt::format("there is no table of fields {}", name));
    return *found;
  }

  const Value& component(std::string_view name) const {
    const Value* const found = schemas_.find(name);
    if (found == nullptr) throw std::logic_error(fmt::format("there is no schema {}", name));
    return *found;
  }

  const Value& schemas_;
  std::span<const json::FieldTable> tables_;
  json::Writer out_{json::Writer::Layout::compact};
};

}  // namespace

std::string complete_schemas(const Value& schemas, std::span<const json::FieldTable> tables) {
  return SchemaWriter(schemas, tables).write();
}

}  // namespace sluice::openapi
