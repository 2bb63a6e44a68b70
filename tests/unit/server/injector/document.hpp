// JSON that can be changed, and an independent reading of RFC 6902: what the API server does with a patch.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json/text.hpp"
#include "common/json/tree.hpp"

namespace sluice::server::injector {

struct Member;

struct Node {
  json::Type type = json::Type::null;
  std::string text;  // of strings, numbers and booleans
  std::vector<Node> items;
  std::vector<Member> members;

  Node* find(std::string_view name);
  const Node* find(std::string_view name) const { return const_cast<Node*>(this)->find(name); }
  // By a pointer without escapes. Throws where it leads nowhere, as all of these do.
  const Node& at(std::string_view pointer) const;
};

struct Member {
  Member(std::string its_name, Node its_value) : first(std::move(its_name)), second(std::move(its_value)) {}
  std::string first;
  Node second;
};

inline Node* Node::find(std::string_view name) {
  const auto found = std::ranges::find(members, name, &Member::first);
  return found == members.end() ? nullptr : &found->second;
}

inline const Node& Node::at(std::string_view pointer) const {
  const Node* node = this;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string part(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(part.size());
    const Node* next = nullptr;
    if (node->type == json::Type::object) next = node->find(part);
    if (node->type == json::Type::array && std::stoul(part) < node->items.size()) next = &node->items[std::stoul(part)];
    if (next == nullptr) throw std::out_of_range("nothing at " + part);
    node = next;
  }
  return *node;
}

inline Node node_of(const json::Value& value) {
  Node node{.type = value.type(), .text = {}, .items = {}, .members = {}};
  switch (value.type()) {
    case json::Type::null:
      break;
    case json::Type::boolean:
      node.text = value.boolean() ? "true" : "false";
      break;
    case json::Type::number:
    case json::Type::string:
      node.text = value.text();
      break;
    case json::Type::array:
      for (const json::Value& item : value.items()) node.items.push_back(node_of(item));
      break;
    case json::Type::object:
      for (const json::Member& part : value.members())
        node.members.emplace_back(std::string(part.name), node_of(part.value));
      break;
  }
  return node;
}

inline Node parse_node(std::string_view text) {
  json::Tree tree;
  const auto root = tree.parse(text);
  if (!root) throw std::invalid_argument("no JSON: " + std::string(text));
  return node_of(*root);
}

inline std::string text_of(const Node& node) {
  std::string out;
  switch (node.type) {
    case json::Type::null:
      return "null";
    case json::Type::boolean:
    case json::Type::number:
      return node.text;
    case json::Type::string:
      json::append_string(out, node.text);
      return out;
    case json::Type::array:
      for (const Node& item : node.items) out += (out.empty() ? "" : ",") + text_of(item);
      return '[' + out + ']';
    case json::Type::object:
      for (const auto& [name, value] : node.members) {
        if (!out.empty()) out += ',';
        json::append_string(out, name);
        out += ':' + text_of(value);
      }
      return '{' + out + '}';
  }
  return out;
}

// The members of all objects in the order of their names, as Go writes maps.
inline Node sorted(Node node) {
  for (Node& item : node.items) item = sorted(std::move(item));
  for (auto& member : node.members) member.second = sorted(std::move(member.second));
  std::ranges::sort(node.members, {}, &Member::first);
  return node;
}

inline std::string unescaped(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '~')
      out += part[++i] == '1' ? '/' : '~';
    else
      out += part[i];
  }
  return out;
}

inline void apply_operation(Node& root, const Node& operation) {
  const std::string& kind = operation.at("/op").text;
  const std::string& path = operation.at("/path").text;
  const std::size_t slash = path.rfind('/');
  Node* parent = &root;
  for (std::string_view rest = std::string_view(path).substr(0, slash); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(part.size());
    const std::string name = unescaped(part);
    parent = parent->type == json::Type::array ? &parent->items.at(std::stoul(name)) : parent->find(name);
    if (parent == nullptr) throw std::out_of_range(path);
  }
  const std::string last = unescaped(std::string_view(path).substr(slash + 1));
  if (parent->type == json::Type::array) {
    const std::size_t index = last == "-" ? parent->items.size() : std::stoul(last);
    if (index > parent->items.size()) throw std::out_of_range(path);
    const auto at = parent->items.begin() + static_cast<std::ptrdiff_t>(index);
    if (kind == "add") parent->items.insert(at, operation.at("/value"));
    if (kind == "replace") parent->items.at(index) = operation.at("/value");
    if (kind == "remove") parent->items.erase(at);
    return;
  }
  if (parent->type != json::Type::object) throw std::out_of_range(path);
  Node* const there = parent->find(last);
  if (kind != "add" && there == nullptr) throw std::out_of_range(path);
  if (kind == "remove") {
    std::erase_if(parent->members, [&](const auto& member) { return member.first == last; });
  } else if (there != nullptr) {
    *there = operation.at("/value");
  } else {
    parent->members.emplace_back(last, operation.at("/value"));
  }
}

// `patch`: "" is no operation.
inline Node patched(Node root, std::string_view patch) {
  if (patch.empty()) return root;
  for (const Node& operation : parse_node(patch).items) apply_operation(root, operation);
  return root;
}

}  // namespace sluice::server::injector
