// parse_check() runs a RapidJSON SAX reader on the body in place. A check has two levels. Anything deeper is a fault,
// and its content is skipped.
#include <fmt/core.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "common/domain/check_faults.hpp"
#include "common/domain/check_fields.hpp"
#include "common/domain/check_request.hpp"
#include "common/domain/check_rules.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/resource.hpp"
#include "common/json/insitu_stream.hpp"

namespace sluice {
namespace {

constexpr unsigned kMaxDepth = 16;  // bounds the stack, because the reader recurses
constexpr const char* kCostRule = "must be an integer, without fraction or exponent";

using Kind = CheckField::Kind;
using check_rules::kMaxNamed;
using check_rules::kMaxText;

class CheckHandler : public rapidjson::BaseReaderHandler<json::InsituUtf8, CheckHandler> {
 public:
  // The reader unescapes all strings inside `body`.
  CheckHandler(std::span<char> body, CheckRequest& out, CheckFaults& faults)
      : body_(body), out_(out), faults_(faults) {}

  // The reader calls the functions from here to EndArray(). Each adds a fault before it returns false, which stops the
  // reader.
  bool Null() {
    return scalar([&] { wrong_type(); });
  }
  bool Bool(bool value) {
    return scalar([&] { take_bool(value); });
  }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    return scalar([&] { take_number({text, length}); });
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return scalar([&] { take_string({text, length}); });
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    const std::string_view name(text, length);
    if (skip_from_ != 0) return true;
    if (where_ == Kind::dimension) {
      begin_field(name);
    } else {
      begin_entry(name);
    }
    return true;
  }
  bool StartObject() { return open(true); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(false); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  // Checks the rules between fields. REQUIRES: the whole body was read.
  void finish();

 private:
  bool open(bool object);
  bool close();
  void begin_field(std::string_view name);
  void begin_entry(std::string_view name);
  bool is_duplicate_entry(std::string_view name) const;
  void take_bool(bool value);
  void take_number(std::string_view text);
  void take_string(std::string_view text);
  void take_cost(std::string_view text, std::int64_t& cost);
  void take_limit(std::string_view text);
  void take_source_ip(std::string_view text);
  void take_wait(std::string_view text);
  void wrong_type();
  std::string pointer() const;

  template <class Take>
  bool scalar(Take take) {
    if (depth_ == 0) return not_an_object();
    if (skip_from_ == 0 && !ignored_) take();
    return true;
  }
  bool not_an_object() {
    faults_.add(400, "", "a check is a JSON object, such as {\"resource\":\"GET:/orders\",\"subject\":\"user:42\"}");
    return false;
  }
  std::span<char> body_;
  CheckRequest& out_;
  CheckFaults& faults_;
  unsigned depth_ = 0;
  unsigned skip_from_ = 0;             // depth of the object or list that is skipped; 0: none
  Kind where_ = Kind::dimension;       // the object that is read; Kind::dimension stands for the top level
  const CheckField* field_ = nullptr;  // nullptr while an unknown field is read
  bool ignored_ = false;               // ignore the next value, because its name was a fault
  std::string_view entry_;             // name inside tags, attributes, costs or limit_override
  std::size_t entries_ = 0;
  std::uint64_t seen_ = 0;       // has bit check_field_index(field) for each field that was given
  bool requests_named_ = false;  // costs.requests was given
  bool identified_ = false;      // a dimension or a plan was given, valid or not
};

bool CheckHandler::open(bool object) {
  ++depth_;
  if (depth_ == 1) return object || not_an_object();
  if (depth_ > kMaxDepth) {
    faults_.add(400, "", "nested deeper than 16 levels");
    return false;
  }
  if (skip_from_ != 0) return true;
  const bool map = field_ != nullptr && (field_->kind == Kind::tags || field_->kind == Kind::attributes ||
                                         field_->kind == Kind::costs || field_->kind == Kind::limit_override);
  if (depth_ == 2 && object && map && !ignored_) {
    where_ = field_->kind;
    entries_ = 0;
    return true;
  }
  if (!ignored_) wrong_type();
  skip_from_ = depth_;
  return true;
}

bool CheckHandler::close() {
  if (skip_from_ == depth_) {
    skip_from_ = 0;
  } else if (skip_from_ == 0 && depth_ == 2) {
    where_ = Kind::dimension;
  }
  --depth_;
  return true;
}

void CheckHandler::begin_field(std::string_view name) {
  field_ = find_check_field(name);
  ignored_ = true;
  if (field_ == nullptr) return faults_.add_unknown(name);
  const std::uint64_t bit = std::uint64_t{1} << check_field_index(field_);
  if ((seen_ & bit) != 0) return faults_.add(400, pointer(), "given twice, or beside another name of the same field");
  seen_ |= bit;
  if (field_->kind == Kind::refused) return faults_.add(422, pointer(), std::string(field_->help));
  if (field_->kind == Kind::dimension || field_->kind == Kind::plan_id) identified_ = true;
  ignored_ = false;
}

void CheckHandler::begin_entry(std::string_view name) {
  entry_ = name;
  ignored_ = true;
  if (++entries_ > kMaxNamed) {
    if (entries_ != kMaxNamed + 1) return;
    faults_.add(422, CheckFaults::pointer_to(field_->name), std::string(check_rules::kNamesRule));
    return;
  }
  if (!check_rules::is_name(name)) return faults_.add(422, pointer(), std::string(check_rules::fault_of_name(name)));
  if (is_duplicate_entry(name)) return faults_.add(400, pointer(), "given twice");
  ignored_ = false;
  // The entry is added before its value is read, so that a duplicate is found even if the value is invalid.
  if (where_ == Kind::limit_override) {
    out_.limit_override.push_back({name, 0});
    return;
  }
  if (where_ == Kind::costs) {
    if (name == "requests") {
      requests_named_ = true;
    } else {
      out_.costs.push_back({name, 0});
    }
    return;
  }
  identified_ = true;
  (where_ == Kind::tags ? out_.tags : out_.attributes).emplace_back(name, std::string_view{});
}

bool CheckHandler::is_duplicate_entry(std::string_view name) const {
  const auto named = [name](const NamedValue& value) { return value.name == name; };
  if (where_ == Kind::tags) return std::ranges::any_of(out_.tags, named);
  if (where_ == Kind::attributes) return std::ranges::any_of(out_.attributes, named);
  if (where_ == Kind::limit_override) {
    return std::ranges::find(out_.limit_override, name, &BroughtLimit::name) != out_.limit_override.end();
  }
  if (name == "requests") return requests_named_;
  return std::ranges::any_of(out_.costs, [name](const UnitCost& cost) { return cost.unit == name; });
}

void CheckHandler::take_bool(bool value) {
  if (where_ != Kind::dimension || field_->kind != Kind::explain) return wrong_type();
  out_.explain = value;
}

void CheckHandler::take_number(std::string_view text) {
  if (where_ == Kind::limit_override) return take_limit(text);
  if (where_ == Kind::costs) return take_cost(text, entry_ == "requests" ? out_.requests : out_.costs.back().cost);
  if (where_ == Kind::dimension && field_->kind == Kind::cost) return take_cost(text, out_.requests);
  if (where_ == Kind::dimension && field_->kind == Kind::wait) {
    // A fraction, an exponent or a sign is not a whole number of seconds.
    return text.find_first_not_of("0123456789") == std::string_view::npos ? take_wait(text) : wrong_type();
  }
  wrong_type();
}

void CheckHandler::take_cost(std::string_view text, std::int64_t& cost) {
  if (text.find_first_of(".eE") != std::string_view::npos) return wrong_type();
  std::int64_t value = 0;
  const bool fits = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  if (fits && check_rules::is_cost(value)) {
    cost = value;
    return;
  }
  faults_.add(422, pointer(), std::string(check_rules::fault_of_cost(text.front() == '-')));
}

void CheckHandler::take_limit(std::string_view text) {
  if (text.find_first_of(".eE") != std::string_view::npos) return wrong_type();
  std::int64_t value = 0;
  const bool fits = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  if (fits && check_rules::is_limit(value)) {
    out_.limit_override.back().limit = value;
    return;
  }
  faults_.add(422, pointer(), check_rules::fault_of_limit(text));
}

void CheckHandler::take_string(std::string_view text) {
  if (where_ == Kind::costs || where_ == Kind::limit_override) return wrong_type();
  if (where_ == Kind::dimension && field_->kind == Kind::wait) return take_wait(text);
  if (where_ == Kind::dimension && field_->kind != Kind::dimension && field_->kind != Kind::plan_id &&
      field_->kind != Kind::request_id && field_->kind != Kind::tenant_id) {
    return wrong_type();
  }
  const bool is_resource =
      where_ == Kind::dimension && field_->kind == Kind::dimension && field_->dimension == Dimension::resource;
  if (is_resource && !text.empty()) {  // a query does not count towards the length
    text = canonical_resource(body_.subspan(static_cast<std::size_t>(text.data() - body_.data()), text.size()));
  }
  if (text.size() > kMaxText) return faults_.add(422, pointer(), std::string(check_rules::kTextRule));
  if (where_ == Kind::tags) {
    out_.tags.back().text = text;
  } else if (where_ == Kind::attributes) {
    out_.attributes.back().text = text;
  } else if (field_->kind == Kind::dimension && field_->dimension == Dimension::source_ip && !text.empty()) {
    take_source_ip(text);
  } else if (field_->kind == Kind::dimension) {
    out_.dimensions[static_cast<std::size_t>(field_->dimension)] = {text, !text.empty()};
  } else if (field_->kind == Kind::request_id) {
    out_.request_id = text;
  } else if (field_->kind == Kind::tenant_id) {
    out_.tenant_id = text;
  } else if (text.empty()) {
    faults_.add(422, pointer(), "names no plan; leave it out to match policies");
  } else {
    out_.plan_id = text;
  }
}

void CheckHandler::take_source_ip(std::string_view text) {
  const auto address = find_address(text);
  if (address) {
    out_.dimensions[static_cast<std::size_t>(Dimension::source_ip)] = {*address, true};
  } else {
    faults_.add(422, pointer(), check_rules::fault_of_source_ip(text));
  }
}

void CheckHandler::take_wait(std::string_view text) {
  auto wait = check_rules::read_wait(text);
  if (!wait) return faults_.add(422, pointer(), std::move(wait).error());
  out_.wait = *wait;
}

void CheckHandler::wrong_type() {
  if (where_ == Kind::costs || where_ == Kind::limit_override) return faults_.add(400, pointer(), kCostRule);
  if (where_ != Kind::dimension) return faults_.add(400, pointer(), "must be a string");
  switch (field_->kind) {
    case Kind::cost:
      return faults_.add(400, pointer(), kCostRule);
    case Kind::costs:
      return faults_.add(400, pointer(), "must be an object: unit to integer");
    case Kind::limit_override:
      return faults_.add(400, pointer(), "must be an object: name of a limit to integer, such as {\"burst\":500}");
    case Kind::tags:
    case Kind::attributes:
      return faults_.add(400, pointer(), "must be an object: name to string");
    case Kind::explain:
      return faults_.add(400, pointer(), "must be true or false");
    case Kind::wait:
      return faults_.add(400, pointer(), "must be a duration such as \"2s\", or a whole number of seconds");
    default:
      return faults_.add(400, pointer(), "must be a string");
  }
}

std::string CheckHandler::pointer() const {
  if (field_ == nullptr) return {};
  std::string pointer = CheckFaults::pointer_to(field_->name);
  if (where_ != Kind::dimension) pointer += CheckFaults::pointer_to(entry_);
  return pointer;
}

void CheckHandler::finish() {
  const std::uint64_t cost_bit = std::uint64_t{1} << check_field_index(find_check_field("cost"));
  if (requests_named_ && (seen_ & cost_bit) != 0) {
    faults_.add(400, "/costs/requests", std::string(check_rules::kTwoCosts));
  }
  if (!identified_) faults_.add(400, "/resource", std::string(check_rules::kNoDimension));
}

}  // namespace

std::vector<RequestFault> parse_check(std::span<char> body, CheckRequest& out) {
  constexpr unsigned kFlags =
      rapidjson::kParseInsituFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  out.clear();
  CheckFaults faults;
  CheckHandler handler(body, out, faults);
  json::InsituStream stream(body);
  json::InsituReader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (result.Code() == rapidjson::kParseErrorNumberTooBig) {
    // The reader stopped at a number that does not fit into a double. The handler adds the fault for that field.
    const std::string_view rest = std::string_view(body.data(), body.size()).substr(result.Offset());
    const std::string_view number = rest.substr(0, rest.find_first_not_of("+-.0123456789eE"));
    handler.RawNumber(number.data(), static_cast<rapidjson::SizeType>(number.size()), false);
  } else if (result.IsError()) {
    faults.add_syntax(result.Code(), result.Offset(), body);
  } else if (stream.Tell() != body.size()) {
    // The reader treats a NUL as the end of the text.
    faults.add(400, "", fmt::format("not JSON: a NUL at byte {}", stream.Tell()));
  } else {
    handler.finish();
  }
  return std::move(faults).take();
}

}  // namespace sluice
