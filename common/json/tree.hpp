// A JSON document as a tree that keeps numbers as they were written (0.333333 must not pass through a double).
//
// Thread safety: none needed; a tree belongs to the one reader that parses it.
// Invariants: nested at most kMaxDepth deep, every string is valid UTF-8.
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

// "an object", "a string", … for texts.
std::string_view describe(Type type);

struct Member;

// A value whose text and children live in its tree. Trivially copyable.
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
  // REQUIRES of each: the type.
  bool boolean() const { return boolean_; }
  std::string_view text() const { return {text_, size_}; }  // a string's value, or a number as it was written
  std::span<Value> items() const { return {items_, size_}; }
  std::span<Member> members() const;
  // A member's value: nullptr where there is none of this name, or where this is no object.
  const Value* find(std::string_view name) const;
  // The text of that member: "" where there is none, or where it is no string.
  std::string_view text_of(std::string_view name) const;

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
  bool taken = false;      // its reader knows it (fields.hpp)
};

inline std::span<Member> Value::members() const { return {members_, size_}; }
inline const Value* Value::find(std::string_view name) const {
  if (type_ != Type::object) return nullptr;
  for (const Member& member : members()) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

inline std::string_view Value::text_of(std::string_view name) const {
  const Value* const found = find(name);
  return found != nullptr && found->type_ == Type::string ? found->text() : std::string_view();
}

// Owns the memory of parsed documents, and of values that were made of theirs.
class Tree {
 public:
  Tree();
  ~Tree();
  Tree(const Tree&) = delete;

  // Parses RFC 8259 text; a byte order mark in front is skipped. The fault names line and column.
  // Refuses: faulty syntax or UTF-8, the byte NUL, lone surrogates, more than kMaxDepth levels or kMaxBytes.
  std::expected<Value, Fault> parse(std::string_view text);

  // A string. The text is copied.
  Value string(std::string_view text);
  // An object of these members, in this order; their names and values are not copied. Marks duplicates anew.
  Value object(std::span<const Member> members);

  // Forgets all values; the memory is for the next text.
  void clear();

 private:
  class Parser;

  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice::json
