// Parses a JSON document into a tree of values. Numbers stay text, so they are not rounded.
//
// Thread safety: none.
// Invariants: at most kMaxDepth levels of nesting; every string is valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::json {

inline constexpr std::size_t kMaxDepth = 64;
inline constexpr std::size_t kMaxBytes = std::size_t{128} << 20;

enum class Type : std::uint8_t { null, boolean, number, string, array, object };

// For error texts: "an object", "a string", …
std::string_view describe(Type type);

struct Member;

// Refers to text and children that the tree owns.
class Value {
 public:
  Value() = default;
  explicit Value(bool value) : type_(Type::boolean), boolean_(value) {}
  Value(Type type, std::string_view text)
      : type_(type), size_(static_cast<std::uint32_t>(text.size())), text_(text.data()) {}
  explicit Value(std::span<Value> items)
      : type_(Type::array), size_(static_cast<std::uint32_t>(items.size())), items_(items.data()) {}
  Value(Member* members, std::size_t count)
      : type_(Type::object), size_(static_cast<std::uint32_t>(count)), members_(members) {}

  Type type() const { return type_; }
  // REQUIRES: the value has the matching type; for text(), it is a string or a number.
  bool boolean() const { return boolean_; }
  std::string_view text() const { return {text_, size_}; }  // a number's digits as written
  std::span<Value> items() const { return {items_, size_}; }
  std::span<Member> members() const;
  // Returns nullptr if there is no such member, or if this is not an object.
  const Value* find(std::string_view name) const;
  // Returns a value of type null instead of nullptr, so calls can be chained: get("a").get("b").
  Value get(std::string_view name) const;
  // If the member does not exist or has another type, the result is "", an empty list or false.
  std::string_view text_of(std::string_view name) const;
  std::span<Value> items_of(std::string_view name) const;
  bool is_true(std::string_view name) const;

 private:
  Type type_ = Type::null;
  bool boolean_ = false;
  std::uint32_t size_ = 0;
  union {
    const char* text_ = nullptr;
    Value* items_;
    Member* members_;
  };
};

struct Member {
  std::string_view name;
  Value value;
  bool duplicate = false;  // an earlier member of the object has this name
  bool taken = false;      // Fields (fields.hpp) has read the member
};

inline std::span<Member> Value::members() const { return {members_, size_}; }
inline const Value* Value::find(std::string_view name) const {
  if (type_ != Type::object) return nullptr;
  for (const Member& member : members()) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

inline Value Value::get(std::string_view name) const {
  const Value* const found = find(name);
  return found != nullptr ? *found : Value();
}

inline std::string_view Value::text_of(std::string_view name) const {
  const Value found = get(name);
  return found.type_ == Type::string ? found.text() : std::string_view();
}

inline std::span<Value> Value::items_of(std::string_view name) const {
  const Value found = get(name);
  return found.type_ == Type::array ? found.items() : std::span<Value>();
}

inline bool Value::is_true(std::string_view name) const {
  const Value found = get(name);
  return found.type_ == Type::boolean && found.boolean();
}

// Owns the memory of all values that it parsed or made.
class Tree {
 public:
  Tree();
  ~Tree();
  Tree(const Tree&) = delete;

  // RFC 8259. Skips a byte order mark at the beginning.
  // Faults: invalid syntax or UTF-8, the byte NUL, unpaired surrogates, more than kMaxDepth levels or kMaxBytes. Only
  // the fault of a text that is too large has no line.
  std::expected<Value, Fault> parse(std::string_view text);

  // Copies the text.
  Value string(std::string_view text);
  // Marks duplicates. The texts and children of `members` must outlive the result.
  Value object(std::span<const Member> members);

  // Frees all values.
  void clear();

 private:
  class Parser;

  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice::json
