// split_checks() reads the outer object by hand, and skips each check with a RapidJSON reader that stores nothing. If
// the reader rejects a check that can still be JSON (for example, nested too deep), splitting continues after it.
#include "common/domain/check_batch.hpp"

#include <fmt/core.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/domain/check_faults.hpp"
#include "common/domain/check_fields.hpp"
#include "common/json/scan.hpp"
#include "common/json/tree.hpp"

namespace sluice {
namespace {

constexpr unsigned kMaxCheckDepth = 16;  // bounds the stack, because the reader recurses
constexpr const char* kFrame = R"(a batch is {"checks":[…]}, a list of 1 to 256 checks)";

// A RapidJSON Stream whose write functions do nothing. The reader needs no memory, and the text does not change.
class SkimStream {
 public:
  using Ch = char;

  explicit SkimStream(std::span<char> text) : begin_(text.data()), src_(begin_), end_(begin_ + text.size()) {}

  char Peek() const { return src_ != end_ ? *src_ : '\0'; }
  char Take() { return src_ != end_ ? *src_++ : '\0'; }
  std::size_t Tell() const { return static_cast<std::size_t>(src_ - begin_); }
  char* PutBegin() { return begin_; }
  void Put(char) {}
  std::size_t PutEnd(const char*) const { return 1; }

  void take_text() {
    char* at = src_;
    while (at != end_ && static_cast<unsigned char>(*at) >= 0x20 && *at != '"' && *at != '\\') ++at;
    src_ = at;
  }

 private:
  char* begin_;
  char* src_;
  char* end_;
};

// Accepts all bytes, because parse_check() validates the UTF-8 of each check.
struct SkimUtf8 : rapidjson::UTF8<> {
  template <class In, class Out>
  static bool Validate(In& in, Out&) {
    if constexpr (std::is_same_v<In, SkimStream>) in.take_text();
    return true;
  }
};

struct Skimmer : rapidjson::BaseReaderHandler<SkimUtf8, Skimmer> {
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return true; }
  bool StartObject() { return ++depth <= kMaxCheckDepth; }
  bool EndObject(rapidjson::SizeType) { return --depth, true; }
  bool StartArray() { return ++depth <= kMaxCheckDepth; }
  bool EndArray(rapidjson::SizeType) { return --depth, true; }
  unsigned depth = 0;
};

class Splitter {
 public:
  Splitter(std::span<char> body, std::vector<std::span<char>>& checks, CheckFaults& faults)
      : body_(body), text_(body.data(), body.size()), checks_(checks), faults_(faults) {}

  // read_object(), read_member(), read_list() and skim() return false after a fault that ends reading.
  void read() {
    if (!read_object()) return;
    skip_space();
    if (at_ != text_.size()) broken(rapidjson::kParseErrorDocumentRootNotSingular);
    if (!seen_) faults_.add(400, "/checks", "is required: the list of checks");
  }

 private:
  bool read_object() {
    skip_space();
    if (at_ == text_.size()) return broken(rapidjson::kParseErrorDocumentEmpty);
    if (!take('{')) {
      faults_.add(400, "", kFrame);
      return false;
    }
    skip_space();
    if (take('}')) return true;
    do {
      if (!read_member()) return false;
      skip_space();
    } while (take(','));
    return take('}') || broken(rapidjson::kParseErrorObjectMissCommaOrCurlyBracket);
  }

  bool read_member() {
    skip_space();
    const std::size_t from = at_;
    if (next() != '"') return broken(rapidjson::kParseErrorObjectMissName);
    if (!skim()) return false;
    const bool checks = is_checks(text_.substr(from, at_ - from));
    skip_space();
    if (!take(':')) return broken(rapidjson::kParseErrorObjectMissColon);
    skip_space();
    if (!checks) return skim();
    const bool again = std::exchange(seen_, true);
    if (!again && take('[')) return read_list();
    if (!skim()) return false;
    faults_.add(400, "/checks", again ? "given twice" : "must be a list of checks");
    return true;
  }

  // Adds a fault if the name is not `checks`. `quoted`: the name as it was sent, with its quotes.
  bool is_checks(std::string_view quoted) {
    if (quoted == R"("checks")") return true;
    json::Tree tree;  // unescapes the name
    const auto name = tree.parse(quoted);
    if (!name) {
      faults_.add(400, "", "the name of a member is not UTF-8");
      return false;
    }
    if (name->text() == "checks") return true;
    const bool of_check = find_check_field(name->text()) != nullptr;
    std::string rule =
        of_check ? fmt::format("is a field of one check: send one check to POST {}, or put it into checks", kCheckPath)
                 : std::string("unknown field");
    faults_.add(400, CheckFaults::pointer_to(name->text()), fmt::format("{}; {}", rule, kFrame));
    return false;
  }

  bool read_list() {
    skip_space();
    if (take(']')) {
      faults_.add(422, "/checks", "is empty: send 1 to 256 checks");
      return true;
    }
    std::size_t count = 0;
    do {
      skip_space();
      const std::size_t from = at_;
      if (!skim()) return false;
      if (++count <= kMaxBatchChecks) checks_.push_back(body_.subspan(from, at_ - from));
      skip_space();
    } while (take(','));
    if (!take(']')) return broken(rapidjson::kParseErrorArrayMissCommaOrSquareBracket);
    if (count > kMaxBatchChecks) {
      faults_.add(422, "/checks", fmt::format("holds {} checks; a batch takes 1 to {}", count, kMaxBatchChecks));
    }
    return true;
  }

  // Moves from the first byte of a value to the byte after the value.
  bool skim() {
    constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseValidateEncodingFlag |
                                rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseStopWhenDoneFlag;
    SkimStream stream(body_.subspan(at_));
    Skimmer skimmer;
    rapidjson::GenericReader<SkimUtf8, SkimUtf8> reader;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, skimmer);
    if (!result.IsError()) {
      at_ += stream.Tell();
      return true;
    }
    switch (result.Code()) {
      case rapidjson::kParseErrorTermination:                    // nested too deep
      case rapidjson::kParseErrorNumberTooBig:                   // does not fit into a double
      case rapidjson::kParseErrorStringUnicodeSurrogateInvalid:  // half of a surrogate pair
        at_ = std::min(json::end_of_value(text_, at_), text_.size());
        return at_ < text_.size() || broken(rapidjson::kParseErrorUnspecificSyntaxError);
      case rapidjson::kParseErrorDocumentEmpty:
        return broken(rapidjson::kParseErrorValueInvalid);
      default:
        at_ += result.Offset();
        return broken(result.Code());
    }
  }

  bool broken(rapidjson::ParseErrorCode code) {
    faults_.add_syntax(code, at_, body_);
    return false;
  }

  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void skip_space() { at_ = json::skip_space(text_, at_); }

  const std::span<char> body_;
  const std::string_view text_;
  std::vector<std::span<char>>& checks_;
  CheckFaults& faults_;
  std::size_t at_ = 0;
  bool seen_ = false;  // the member `checks` was read
};

}  // namespace

std::vector<RequestFault> split_checks(std::span<char> body, std::vector<std::span<char>>& checks) {
  checks.clear();
  CheckFaults faults;
  Splitter(body, checks, faults).read();
  return std::move(faults).take();
}

}  // namespace sluice
