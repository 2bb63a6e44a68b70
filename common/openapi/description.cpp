#include "common/openapi/description.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/layout.hpp"
#include "common/json/text.hpp"
#include "common/openapi/schema.hpp"

namespace sluice::openapi {
namespace {

using json::Type;
using json::Value;

constexpr std::size_t kWidth = 120;

// Writes an object: `Members object(out); json::append_string(object["name"], text);`
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  ~Members() { out_ += '}'; }
  Members(const Members&) = delete;

  std::string& operator[](std::string_view name) {
    json::append_member(out_, name, first_);
    return out_;
  }
  void copy(const Value* value, std::string_view name) {
    if (value != nullptr) json::append((*this)[name], *value);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

Value parse(json::Tree& tree, std::string_view text) {
  const auto root = tree.parse(text);
  if (!root) throw std::logic_error("a fragment of the API's description: " + root.error().text);
  return *root;
}

std::string key_of(std::string_view method, std::string_view path) { return fmt::format("{} {}", method, path); }

void append_reference(std::string& out, std::string_view section, std::string_view name) {
  Members object(out);
  json::append_string(object["$ref"], fmt::format("#/components/{}/{}", section, name));
}

void append_frame_components(std::string& out, const Value& components, std::span<const json::FieldTable> tables) {
  Members object(out);
  for (const json::Member& section : components.members()) {
    if (section.name == "schemas") {
      object[section.name] += complete_schemas(section.value, tables);
    } else {
      object.copy(&section.value, section.name);
    }
  }
}

// If `value` is a string, it names a component: writes a reference to the component. Else writes `value` itself.
void append_component(std::string& out, std::string_view section, const Value& value) {
  if (value.type() == Type::string) return append_reference(out, section, value.text());
  json::append(out, value);
}

// `names` is an object from member names to components, or a list of component names, which are also the member names.
void append_components(Members& object, std::string_view section, const Value* names) {
  if (names == nullptr) return;
  if (names->type() == Type::object) {
    for (const json::Member& each : names->members()) append_component(object[each.name], section, each.value);
    return;
  }
  for (const Value& name : names->items()) append_reference(object[name.text()], section, name.text());
}

void append_content(std::string& out, const Value& media) {
  Members object(out);
  if (const Value* const schema = media.find("schema")) append_component(object["schema"], "schemas", *schema);
  object.copy(media.find("example"), "example");
  object.copy(media.find("examples"), "examples");
}

// A body that can have no member may be left out.
constexpr std::string_view kNoMembers = "NoMembers";

void append_body(std::string& out, const Operation& operation, const Value& body) {
  Members object(out);
  object["required"] += body.text_of("schema") == kNoMembers ? "false" : "true";
  Members content(object["content"]);
  for (const std::string_view media : operation.media) {
    const Value* const own = body.find(media);
    append_content(content[media], own == nullptr ? body : *own);
  }
}

// `answer` comes from the fragment (texts and examples, see description.hpp), `derived` from the route.
void append_answer(std::string& out, std::string_view status, const Value& answer, const Success& derived) {
  if (answer.type() == Type::string) return append_reference(out, "responses", answer.text());
  Members object(out);
  const std::string_view description = answer.text_of("description");
  json::append_string(object["description"], description.empty() ? derived.description : description);
  const Value* const headers = answer.find("headers");
  if (!derived.headers.empty() || headers != nullptr) {
    Members members(object["headers"]);
    for (const std::string_view name : derived.headers) append_reference(members[name], "headers", name);
    append_components(members, "headers", headers);
  }
  if (const Value* const content = answer.find("content")) {
    Members members(object["content"]);
    for (const json::Member& media : content->members()) append_content(members[media.name], media.value);
  } else if (answer.find("schema") != nullptr) {
    Members members(object["content"]);
    append_content(members["application/json"], answer);
  } else if (status >= "400") {
    Members members(object["content"]);
    Members media(members["application/problem+json"]);
    append_reference(media["schema"], "schemas", "Problem");
  }
  if (const Value* const links = answer.find("links")) {
    Members members(object["links"]);
    append_components(members, "links", links);
  }
}

// Appends the answers of the fragment and the problems of the operation, by status. `headers_only`: for HEAD.
void append_answers(std::string& out, const Operation& operation, const Value& fragment, bool headers_only) {
  std::map<std::string_view, const Value*> answers;
  for (const json::Member& answer : fragment.find("responses")->members()) answers.emplace(answer.name, &answer.value);
  for (const auto& [status, name] : operation.problems) answers.emplace(status, nullptr);
  Members object(out);
  for (const auto& [status, answer] : answers) {
    if (answer == nullptr) {
      append_reference(object[status], "responses", operation.problems.at(status));
    } else if (headers_only && status < "400") {
      Members members(object[status]);
      json::append_string(members["description"], "The headers of the answer to GET, without a body.");
    } else {
      const auto found = operation.successes.find(status);
      append_answer(object[status], status, *answer, found == operation.successes.end() ? Success{} : found->second);
    }
  }
}

void append_operation(std::string& out, const Operation& operation, std::string_view tag, const Value& fragment,
                      bool headers_only) {
  Members object(out);
  json::append_string(object["operationId"], fmt::format("{}{}", fragment.text_of("id"), headers_only ? "Head" : ""));
  if (!tag.empty()) json::append_string(object["tags"] += '[', tag), out += ']';
  json::append_string(object["summary"],
                      fmt::format("{}{}", fragment.text_of("summary"), headers_only ? " Headers only." : ""));
  std::string description(headers_only ? "" : fragment.text_of("description"));
  if (!operation.needs.empty()) description += (description.empty() ? "" : " ") + operation.needs;
  if (!description.empty()) json::append_string(object["description"], description);
  for (const auto& [name, text] : operation.extensions) json::append_string(object[name], text);
  if (operation.open) object["security"] += "[]";
  if (!operation.credential.empty()) object["security"] += fmt::format(R"([{{"{}":[]}}])", operation.credential);
  const Value* const parameters = fragment.find("parameters");
  if (parameters != nullptr || !operation.parameters.empty()) {
    object["parameters"] += '[';
    const std::size_t begin = out.size();
    const auto separate = [&] { out += out.size() == begin ? "" : ","; };
    if (parameters != nullptr) {
      for (const Value& parameter : parameters->items()) separate(), append_component(out, "parameters", parameter);
    }
    for (const std::string_view name : operation.parameters) separate(), append_reference(out, "parameters", name);
    out += ']';
  }
  const Value* const body = fragment.find("body");
  if ((body == nullptr) != operation.media.empty()) {
    throw std::logic_error(fmt::format("{} {}: the route and its fragment do not agree whether there is a body",
                                       operation.method, operation.path));
  }
  if (body != nullptr) append_body(object["requestBody"], operation, *body);
  append_answers(object["responses"], operation, fragment, headers_only);
}

}  // namespace

Description::Description(std::string_view frame, std::span<const std::string_view> fragments,
                         std::span<const json::FieldTable> tables)
    : frame_(parse(frame_tree_, frame)), tables_(tables), trees_(fragments.size()) {
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    const Value root = parse(trees_[i], fragments[i]);
    for (const json::Member& operation : root.find("operations")->members()) {
      fragments_.emplace(operation.name, Prose{root.text_of("tag"), operation.value});
    }
  }
}

const Description::Prose& Description::prose_of(std::string_view method, std::string_view path) const {
  const auto found = fragments_.find(key_of(method, path));
  if (found == fragments_.end()) {
    throw std::logic_error(fmt::format("{} {} is not described: add it to a fragment", method, path));
  }
  return found->second;
}

const Value& Description::fragment(std::string_view method, std::string_view path) const {
  return prose_of(method, path).value;
}

bool Description::answers(std::string_view method, std::string_view path, std::string_view status) const {
  return fragment(method, path).find("responses")->find(status) != nullptr;
}

std::string& Description::path_item(std::string_view path) {
  const auto found = std::ranges::find(paths_, path, &std::pair<std::string_view, std::string>::first);
  return found == paths_.end() ? paths_.emplace_back(path, "").second : found->second;
}

void Description::add(const Operation& operation) {
  const Prose& prose = prose_of(operation.method, operation.path);
  added_.insert(key_of(operation.method, operation.path));
  std::string& item = path_item(operation.path);
  const auto append = [&](std::string method, bool headers_only) {
    std::ranges::transform(method, method.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    bool first = item.empty();
    json::append_member(item, method, first);
    append_operation(item, operation, prose.tag, prose.value, headers_only);
  };
  append(std::string(operation.method), false);
  if (operation.head) append("HEAD", true);
}

std::string Description::text() const {
  for (const auto& [name, prose] : fragments_) {
    if (!added_.contains(name)) throw std::logic_error(name + " is in a fragment, but there is no such route");
  }
  std::string text;
  {
    Members document(text);
    for (const json::Member& member : frame_.members()) {
      if (member.name == "paths") {
        Members paths(document["paths"]);
        for (const auto& [path, operations] : paths_) paths[path] += '{' + operations + '}';
      } else if (member.name == "components") {
        append_frame_components(document["components"], member.value, tables_);
      } else {
        document.copy(&member.value, member.name);
      }
    }
  }
  json::Tree tree;
  return json::indented(parse(tree, text), kWidth) + '\n';
}

}  // namespace sluice::openapi
