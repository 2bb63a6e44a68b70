// A JSON document as a tree that keeps numbers as they were written (0.333333 must not pass through a double).
//
// Thread safety: none needed; a tree belongs to the one reader that parses it.
// Invariants: nested at most kMaxJsonDepth deep, every string is valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{128} << 20;

enum class JsonType : std::uint8_t { null, boolean, number, string, array, object };

// "an object", "a string", … for texts.
std::string_view describe(JsonType type);

struct JsonMember;

// A value whose text and children live in its tree. Trivially copyable.
class JsonValue {
 public:
  JsonValue() = default;
  explicit JsonValue(bool value) : type_(JsonType::boolean), boolean_(value) {}
  JsonValue(JsonType type, std::string_view text)
      : type_(type), size_(static_cast<std::uint32_t>(text.size())), text_(text.data()) {}
  explicit JsonValue(std::span<JsonValue> items)
      : type_(JsonType::array), size_(static_cast<std::uint32_t>(items.size())), items_(items.data()) {}
  JsonValue(JsonMember* members, std::size_t count)
      : type_(JsonType::object), size_(static_cast<std::uint32_t>(count)), members_(members) {}

  JsonType type() const { return type_; }
  // REQUIRES of each: the type.
  bool boolean() const { return boolean_; }
  std::string_view text() const { return {text_, size_}; }  // a string's value, or a number as it was written
  std::span<JsonValue> items() const { return {items_, size_}; }
  std::span<JsonMember> members() const;
  // A member's value: nullptr where there is none of this name, or where this is no object.
  const JsonValue* find(std::string_view name) const;

 private:
  JsonType type_ = JsonType::null;
  bool boolean_ = false;
  std::uint32_t size_ = 0;
  union {
    const char* text_ = nullptr;
    JsonValue* items_;
    JsonMember* members_;
  };
};

struct JsonMember {
  std::string_view name;
  JsonValue value;
  bool duplicate = false;  // an earlier member of the object has this name
  bool taken = false;      // its reader knows it (json_fields.hpp)
};

inline std::span<JsonMember> JsonValue::members() const { return {members_, size_}; }
inline const JsonValue* JsonValue::find(std::string_view name) const {
  if (type_ != JsonType::object) return nullptr;
  for (const JsonMember& member : members()) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

// Owns the memory of one parsed document.
class JsonTree {
 public:
  JsonTree();
  ~JsonTree();
  JsonTree(const JsonTree&) = delete;

  // Parses RFC 8259 text; a byte order mark in front is skipped. The fault names line and column.
  // Refuses: faulty syntax or UTF-8, the byte NUL, lone surrogates, more than kMaxJsonDepth levels or kMaxJsonBytes.
  std::expected<JsonValue, Fault> parse(std::string_view text);

  // Forgets what was parsed; the memory is for the next text.
  void clear();

 private:
  class Parser;

  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice
