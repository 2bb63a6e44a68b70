#include "common/json/member_ranges.hpp"

#include <fmt/core.h>

// RapidJSON 1.1 adds to a null pointer when its stack is first used: harmless, but the sanitizer ends the program.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#pragma clang attribute pop

#include "common/json/syntax_fault.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {
namespace {

// A type of its own, so that the linker does not replace this file's reader, compiled as above, by another's.
struct RangesAllocator : rapidjson::CrtAllocator {};
using Reader = rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, RangesAllocator>;

// Levels of nesting, counted when a container has been opened: {"list": [ { "member": { …
constexpr std::size_t kTop = 1;
constexpr std::size_t kList = 2;
constexpr std::size_t kItem = 3;
constexpr std::size_t kMember = 4;

// Receives the parser's events and keeps where the members begin and end. Relies on the iterative parser, which calls
// before it takes a bracket: the stream stands at it.
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

  // Never called: numbers come as text.
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
  std::size_t item_ = 0;    // of the list that is open
  std::size_t begin_ = 0;   // of the member that is open
  bool in_named_ = false;   // the value of the named list is next, or open
  bool in_list_ = false;    // that value is a list
  bool in_item_ = false;    // the item of that list is an object
  bool in_member_ = false;  // the value of the named member is next, or open
};

}  // namespace

std::expected<std::vector<MemberRange>, Fault> find_members(std::string_view json, std::string_view list,
                                                            std::string_view member) {
  // The parser takes NUL for the end and would not look at what follows.
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
