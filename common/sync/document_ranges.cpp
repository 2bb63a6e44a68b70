#include "common/sync/document_ranges.hpp"

#include <fmt/core.h>

// RapidJSON 1.1 adds to a null pointer when its stack is first used: harmless, but the sanitizer ends the program.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#pragma clang attribute pop

#include "common/domain/json_tree.hpp"
#include "common/domain/text_position.hpp"

namespace sluice::sync {
namespace {

// A type of its own, so that the linker does not replace this file's reader, compiled as above, by another's.
struct RangesAllocator : rapidjson::CrtAllocator {};
using Reader = rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, RangesAllocator>;

// Levels of nesting, counted when a container has been opened: {"objects": [ { "document": { …
constexpr std::size_t kTop = 1;
constexpr std::size_t kList = 2;
constexpr std::size_t kItem = 3;
constexpr std::size_t kDocument = 4;

// Hears of everything in the text and keeps where documents begin and end. Relies on the iterative parser, which calls
// before it takes a bracket: the stream stands at it.
class Finder {
 public:
  Finder(std::string_view text, const rapidjson::MemoryStream& stream) : text_(text), stream_(stream) {}

  bool Null() { return scalar(); }
  bool Bool(bool) { return scalar(); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return scalar(); }
  bool String(const char*, rapidjson::SizeType, bool) { return scalar(); }

  bool Key(const char* name, rapidjson::SizeType size, bool) {
    const std::string_view key(name, size);
    if (depth_ == kTop) in_objects_ = key == "objects";
    if (depth_ == kItem) in_document_ = key == "document";
    return true;
  }

  bool StartObject() {
    if (depth_ == kList && in_list_) in_item_ = true;
    if (depth_ == kItem && in_item_ && in_document_) begin_ = stream_.Tell();
    return deeper();
  }

  bool EndObject(rapidjson::SizeType) {
    if (depth_ == kDocument && in_item_ && in_document_) {
      found_.push_back({.item = item_, .bytes = text_.substr(begin_, stream_.Tell() + 1 - begin_)});
    }
    --depth_;
    if (depth_ == kItem) in_document_ = false;
    if (depth_ == kList) end_item();
    return true;
  }

  bool StartArray() {
    if (depth_ == kTop && in_objects_) {
      in_list_ = true;
      item_ = 0;
    }
    return deeper();
  }

  bool EndArray(rapidjson::SizeType) {
    --depth_;
    if (depth_ == kTop) in_list_ = false;
    if (depth_ == kItem) in_document_ = false;
    if (depth_ == kList) end_item();
    return true;
  }

  // Never called: numbers come as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  std::vector<DocumentRange> take() { return std::move(found_); }

 private:
  bool deeper() { return ++depth_ <= kMaxJsonDepth; }
  bool scalar() {
    if (depth_ == kItem) in_document_ = false;
    if (depth_ == kList) end_item();
    return true;
  }
  void end_item() {
    in_item_ = false;
    ++item_;
  }

  const std::string_view text_;
  const rapidjson::MemoryStream& stream_;
  std::vector<DocumentRange> found_;
  std::size_t depth_ = 0;
  std::size_t item_ = 0;      // of the list that is open
  std::size_t begin_ = 0;     // of the document that is open
  bool in_objects_ = false;   // the value of the member `objects` is next, or open
  bool in_list_ = false;      // that value is a list
  bool in_item_ = false;      // the item of that list is an object
  bool in_document_ = false;  // the value of its member `document` is next, or open
};

std::unexpected<Fault> not_json(std::string_view why, std::string_view text, std::size_t offset) {
  if (why.ends_with('.')) why.remove_suffix(1);
  const TextPosition at = PositionCounter(text).at(offset);
  return std::unexpected(Fault{"", fmt::format("not valid JSON: {}", why), at.line, at.column});
}

}  // namespace

std::expected<std::vector<DocumentRange>, Fault> find_documents(std::string_view json) {
  // The parser takes NUL for the end and would not look at what follows.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos)
    return not_json("the byte NUL", json, nul);
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::MemoryStream stream(json.data(), json.size());
  Finder finder(json, stream);
  Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, finder);
  if (result.Code() == rapidjson::kParseErrorTermination) {
    return not_json(fmt::format("nested more than {} deep", kMaxJsonDepth), json, result.Offset());
  }
  if (result.IsError()) return not_json(rapidjson::GetParseError_En(result.Code()), json, result.Offset());
  return finder.take();
}

}  // namespace sluice::sync
