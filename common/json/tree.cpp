#include "common/json/tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <memory_resource>
#include <string>
#include <unordered_set>
#include <vector>

// RapidJSON 1.1 adds an offset to a null pointer: harmless, but the sanitizer would stop the program.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include "common/json/insitu_stream.hpp"
#pragma clang attribute pop

#include "common/base/keyed_hash.hpp"
#include "common/json/syntax_fault.hpp"

namespace sluice::json {
namespace {

// Gives this file its own instance of the reader, compiled with the attribute above.
struct TreeAllocator : rapidjson::CrtAllocator {};
using Reader = rapidjson::GenericReader<PlainRunsUtf8, PlainRunsUtf8, TreeAllocator>;

constexpr std::size_t kSmallObject = 16;  // up to this size, comparing all pairs is faster than hashing

template <class T>
std::span<T> allocate(std::pmr::monotonic_buffer_resource& arena, std::size_t count) {
  if (count == 0) return {};
  T* const memory = static_cast<T*>(arena.allocate(count * sizeof(T), alignof(T)));
  std::uninitialized_value_construct_n(memory, count);
  return {memory, count};
}

struct NameHash {
  std::size_t operator()(std::string_view name) const { return hash_text(name); }
};

void mark_duplicates(std::span<Member> members) {
  if (members.size() <= kSmallObject) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto before = members.first(i);
      members[i].duplicate = std::ranges::find(before, members[i].name, &Member::name) != before.end();
    }
    return;
  }
  std::unordered_set<std::string_view, NameHash> seen;
  seen.reserve(members.size());
  for (Member& member : members) member.duplicate = !seen.insert(member.name).second;
}

// The children of an object or list wait on a stack until the object or list ends.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::pmr::monotonic_buffer_resource& arena) : arena_(arena) {}

  void begin() {
    stack_.clear();
    depth_ = 0;
    refusal_.clear();
  }

  bool Null() { return push(Value()); }
  bool Bool(bool value) { return push(Value(value)); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return push(Value(Type::number, {text, size})); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (has_surrogate({text, size})) return refuse("a \\u escape names half of a surrogate pair");
    return push(Value(Type::string, {text, size}));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool copy) { return String(text, size, copy); }
  bool StartObject() { return deeper(); }
  bool StartArray() { return deeper(); }

  bool EndArray(rapidjson::SizeType count) {
    --depth_;
    const std::span<Value> items = allocate<Value>(arena_, count);
    std::copy(stack_.end() - count, stack_.end(), items.begin());
    stack_.resize(stack_.size() - count);
    return push(Value(items));
  }

  bool EndObject(rapidjson::SizeType count) {
    --depth_;
    const std::span<Member> members = allocate<Member>(arena_, count);
    const auto first = stack_.end() - 2 * static_cast<std::ptrdiff_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto pair = first + 2 * static_cast<std::ptrdiff_t>(i);
      members[i] = Member{pair[0].text(), pair[1]};
    }
    stack_.resize(stack_.size() - 2 * static_cast<std::size_t>(count));
    mark_duplicates(members);
    return push(Value(members.data(), members.size()));
  }

  // The parser never calls these, because it passes numbers as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  const Value& root() const { return stack_.front(); }
  const std::string& refusal() const { return refusal_; }

 private:
  bool push(Value value) {
    stack_.push_back(value);
    return true;
  }

  bool refuse(std::string why) {
    refusal_ = std::move(why);
    return false;
  }

  bool deeper() {
    if (++depth_ <= kMaxDepth) return true;
    return refuse(fmt::format("nested more than {} deep", kMaxDepth));
  }

  // The parser turns the escape "\udc00" into three bytes that are not valid UTF-8. The first byte is 0xED, and the
  // second at least 0xA0.
  static bool has_surrogate(std::string_view text) {
    for (std::size_t at = text.find('\xED'); at != std::string_view::npos; at = text.find('\xED', at + 1)) {
      if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xA0) return true;
    }
    return false;
  }

  std::pmr::monotonic_buffer_resource& arena_;
  std::vector<Value> stack_;
  std::size_t depth_ = 0;
  std::string refusal_;
};

}  // namespace

std::string_view describe(Type type) {
  switch (type) {
    case Type::null:
      return "null";
    case Type::boolean:
      return "a boolean";
    case Type::number:
      return "a number";
    case Type::string:
      return "a string";
    case Type::array:
      return "a list";
    case Type::object:
      return "an object";
  }
  return "";
}

// Setting up memory and buffers takes longer than parsing a small text, so one parser serves many texts.
class Tree::Parser {
 public:
  std::expected<Value, Fault> parse(std::string_view text);
  std::pmr::monotonic_buffer_resource& arena() { return arena_; }

 private:
  static constexpr std::size_t kFirstBytes = 4096;  // enough for most texts

  std::pmr::monotonic_buffer_resource arena_{kFirstBytes};
  TreeBuilder builder_{arena_};
  Reader reader_;
};

std::expected<Value, Fault> Tree::Parser::parse(std::string_view text) {
  // One copy of the whole text is faster than a copy of each string.
  const std::span<char> copy(static_cast<char*>(arena_.allocate(text.size(), 1)), text.size());
  std::ranges::copy(text, copy.begin());
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  builder_.begin();
  InsituStream stream(copy);
  const rapidjson::ParseResult result = reader_.Parse<kFlags>(stream, builder_);
  if (result.Code() == rapidjson::kParseErrorTermination) return not_json(builder_.refusal(), text, result.Offset());
  if (result.IsError()) return not_json(rapidjson::GetParseError_En(result.Code()), text, result.Offset());
  return builder_.root();
}

Tree::Tree() : parser_(std::make_unique<Parser>()) {}
Tree::~Tree() = default;

Value Tree::string(std::string_view text) {
  const std::span<char> copy = allocate<char>(parser_->arena(), text.size());
  std::ranges::copy(text, copy.begin());
  return {Type::string, {copy.data(), copy.size()}};
}

Value Tree::object(std::span<const Member> members) {
  const std::span<Member> copy = allocate<Member>(parser_->arena(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i) copy[i] = {members[i].name, members[i].value};
  mark_duplicates(copy);
  return {copy.data(), copy.size()};
}

void Tree::clear() { parser_->arena().release(); }

std::expected<Value, Fault> Tree::parse(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.size() > kMaxBytes) {
    return std::unexpected(Fault{"", fmt::format("the document is larger than {} MiB", kMaxBytes >> 20)});
  }
  // RapidJSON would ignore everything after a NUL.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return not_json("the byte NUL", text, nul);
  }
  return parser_->parse(text);
}

}  // namespace sluice::json
