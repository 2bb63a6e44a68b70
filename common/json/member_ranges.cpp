#include "common/json/member_ranges.hpp"

#include <fmt/core.h>

// RapidJSON 1.1 adds an offset to a null pointer: harmless, but the sanitizer would stop the program.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#pragma clang attribute pop

#include "common/json/syntax_fault.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {
namespace {

// Gives this file its own instance of the reader, compiled with the attribute above.
struct RangesAllocator : rapidjson::CrtAllocator {};
using Reader = rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, RangesAllocator>;

// The value of depth_ inside each brace or bracket of {"list": [ { "member": { …
constexpr std::size_t kTop = 1;
constexpr std::size_t kList = 2;
constexpr std::size_t kItem = 3;
constexpr std::size_t kMember = 4;

// RapidJSON's iterative parser calls its handler before it consumes a bracket, so stream_.Tell() is the bracket's
// position.
class Finder {
 public:
  Finder(std::string_view text, std::string_view list, std::string_view member, const rapidjson::MemoryStream& stream)
      : text_(text), list_name_(list), member_name_(member), stream_(stream) {}

  bool Null() { return scalar(); }
  bool Bool(bool) { return scalar(); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return scalar(); }
  bool String(const char*, rapidjson::SizeType, bool) { return scalar(); }

  bool Key(const char* name, rapidjson::SizeType size, bool) {
    const std::string_view key(name, size);
    if (depth_ == kTop) in_named_ = key == list_name_;
    if (depth_ == kItem) in_member_ = key == member_name_;
    return true;
  }

  bool StartObject() {
    if (depth_ == kList && in_list_) in_item_ = true;
    if (depth_ == kItem && in_item_ && in_member_) begin_ = stream_.Tell();
    return deeper();
  }

  bool EndObject(rapidjson::SizeType) {
    if (depth_ == kMember && in_item_ && in_member_) {
      found_.push_back({.item = item_, .bytes = text_.substr(begin_, stream_.Tell() + 1 - begin_)});
    }
    --depth_;
    if (depth_ == kItem) in_member_ = false;
    if (depth_ == kList) end_item();
    return true;
  }

  bool StartArray() {
    if (depth_ == kTop && in_named_) {
      in_list_ = true;
      item_ = 0;
    }
    return deeper();
  }

  bool EndArray(rapidjson::SizeType) {
    --depth_;
    if (depth_ == kTop) in_list_ = false;
    if (depth_ == kItem) in_member_ = false;
    if (depth_ == kList) end_item();
    return true;
  }

  // The parser never calls these, because it passes numbers as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  std::vector<MemberRange> take() { return std::move(found_); }

 private:
  bool deeper() { return ++depth_ <= kMaxDepth; }
  bool scalar() {
    if (depth_ == kItem) in_member_ = false;
    if (depth_ == kList) end_item();
    return true;
  }
  void end_item() {
    in_item_ = false;
    ++item_;
  }

  const std::string_view text_;
  const std::string_view list_name_;
  const std::string_view member_name_;
  const rapidjson::MemoryStream& stream_;
  std::vector<MemberRange> found_;
  std::size_t depth_ = 0;
  std::size_t item_ = 0;   // index in the named list
  std::size_t begin_ = 0;  // of the current member's value
  bool in_named_ = false;  // the last key of the top object was list_name_
  bool in_list_ = false;
  bool in_item_ = false;    // inside an item that is an object
  bool in_member_ = false;  // after the key member_name_
};

}  // namespace

std::expected<std::vector<MemberRange>, Fault> find_members(std::string_view json, std::string_view list,
                                                            std::string_view member) {
  // RapidJSON would ignore everything after a NUL.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos)
    return not_json("the byte NUL", json, nul);
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::MemoryStream stream(json.data(), json.size());
  Finder finder(json, list, member, stream);
  Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, finder);
  if (result.Code() == rapidjson::kParseErrorTermination) {
    return not_json(fmt::format("nested more than {} deep", kMaxDepth), json, result.Offset());
  }
  if (result.IsError()) return not_json(rapidjson::GetParseError_En(result.Code()), json, result.Offset());
  return finder.take();
}

}  // namespace sluice::json
