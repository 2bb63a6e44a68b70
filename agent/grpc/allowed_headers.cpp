#include "agent/grpc/allowed_headers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include <fmt/compile.h>

#include "common/base/protobuf_parts.hpp"
#include "common/domain/limit_headers.hpp"

namespace sluice::agent::rpc {
namespace {

using protobuf::field_size;
using protobuf::FieldHead;
using protobuf::write_bytes;

constexpr char kForApplication = 2 << 3 | 2;
constexpr char kForClient = 6 << 3 | 2;
constexpr std::uint32_t kRemove = 5;

constexpr std::string_view kOverwrite = "\x18\x02";  // OVERWRITE_IF_EXISTS_OR_ADD

// The bytes of a HeaderValueOption in front of the value. The three lengths that depend on the value are still 0; they
// have one byte each if the header is short.
template <LimitHeader kHeader>
constexpr auto kOptionStart = [] {
  constexpr std::string_view kName = name_of(kHeader);
  std::array<char, 6 + kName.size() + 2> start{kForApplication, '\0',  // of the option
                                               '\x0a',          '\0',  // of the header in it
                                               '\x0a',          static_cast<char>(kName.size())};
  *std::ranges::copy(kName, start.data() + 6).out = '\x12';
  return start;
}();

// Writes each header twice, for the application and for the client.
class OptionWriter {
 public:
  explicit OptionWriter(char* to) : to_(to) {}

  template <LimitHeader kHeader>
  void begin() {
    constexpr auto& kStart = kOptionStart<kHeader>;
    option_ = to_;
    header_ = kHeader;
    std::memcpy(to_, kStart.data(), kStart.size());
    to_ += kStart.size();
    value_ = to_;
  }
  void add(std::string_view text) { to_ = write_bytes(text, to_); }
  void add(char c) { *to_++ = c; }
  void add(std::int64_t number) { to_ = fmt::format_to(to_, FMT_COMPILE("{}"), number); }
  void end() {
    const auto value = static_cast<std::size_t>(to_ - value_);
    const std::size_t header = 2 + name_of(header_).size() + 2 + value;
    const std::size_t option = 2 + header + kOverwrite.size();
    if (option < 0x80) [[likely]] {
      option_[1] = static_cast<char>(option);
      option_[3] = static_cast<char>(header);
      value_[-1] = static_cast<char>(value);
    } else {
      to_ = make_long(option_, header_, {value_, value});
    }
    to_ = write_bytes(kOverwrite, to_);
    char* const second = to_;
    to_ = write_bytes({option_, static_cast<std::size_t>(to_ - option_)}, to_);
    *second = kForClient;
    there_ |= 1U << static_cast<unsigned>(header_);
  }

  char* end_of_options() const { return to_; }
  unsigned there() const { return there_; }  // a bit for each LimitHeader

 private:
  // Writes the option behind `option` anew, with longer lengths. Returns the end of the value.
  // Has no access to the members, so that they stay in registers.
  [[gnu::noinline]] static char* make_long(char* option, LimitHeader header, std::string_view value) {
    const std::string_view name = name_of(header);
    const std::size_t content = field_size(name.size()) + field_size(value.size());
    const FieldHead heads[] = {
        {2, field_size(content) + kOverwrite.size()}, {1, content}, {1, name.size()}, {2, value.size()}};
    char* moved = option + name.size();
    for (const FieldHead& head : heads) moved += head.size();
    std::memmove(moved, value.data(), value.size());
    char* const to = heads[2].write(heads[1].write(heads[0].write(option)));
    heads[3].write(write_bytes(name, to));
    return moved + value.size();
  }

  char* to_;
  char* option_ = nullptr;
  char* value_ = nullptr;
  LimitHeader header_{};
  unsigned there_ = 0;
};

// The fields that remove all headers of limits but Retry-After, one behind the other.
constexpr std::size_t kRemovable = kLimitHeaderNames.size() - 1;
static_assert(kLimitHeaderNames.back() == "Retry-After");
// Where each of them begins; the last one is the end of all.
constexpr auto kRemovalAt = [] {
  std::array<std::size_t, kRemovable + 1> at{};
  for (std::size_t i = 0; i < kRemovable; ++i) at[i + 1] = at[i] + field_size(kLimitHeaderNames[i].size());
  return at;
}();
constexpr auto kRemovals = [] {
  std::array<char, kRemovalAt.back()> fields{};
  char* to = fields.data();
  for (std::size_t i = 0; i < kRemovable; ++i) {
    *to++ = kRemove << 3 | 2;
    *to++ = static_cast<char>(kLimitHeaderNames[i].size());
    to = std::ranges::copy(kLimitHeaderNames[i], to).out;
  }
  return fields;
}();

// Removes the headers that are not `there`; those that follow each other in one step.
char* write_removals(unsigned there, char* to) {
  constexpr unsigned kAll = (1U << kRemovable) - 1;
  for (unsigned absent = ~there & kAll; absent != 0;) {
    const int begin = std::countr_zero(absent);
    const int end = begin + std::countr_one(absent >> begin);
    const std::size_t at = kRemovalAt[static_cast<std::size_t>(begin)];
    to = write_bytes({kRemovals.data() + at, kRemovalAt[static_cast<std::size_t>(end)] - at}, to);
    absent &= ~0U << end;
  }
  return to;
}

}  // namespace

std::size_t AllowedHeaders::bound() const {
  constexpr std::size_t kMostHeaders = 3 + 2 + 3 + 3 + 1;  // of the four families, and Retry-After
  constexpr std::size_t kNumbers = 3 * (std::string_view("-9223372036854775808").size() + 3);  // with their keys
  constexpr std::size_t kAround = 4 * protobuf::kMaxHead + kOverwrite.size() + 2;              // with quotes
  constexpr std::size_t kLongestName = std::ranges::max(kLimitHeaderNames, {}, &std::string_view::size).size();
  std::size_t value = 2 * decision_.limit_name.size();  // each byte escaped
  if (families_.ietf_next) {
    for (const auto& dimensions : {decision_.key_by, decision_.limit_key_by}) {
      for (const DimensionRef& dimension : dimensions) {
        value += 2 + dimension_name(dimension.dimension).size() + dimension.name.size();
      }
    }
  }
  std::size_t bound = 2 * kMostHeaders * (kAround + kLongestName + kNumbers + value) + kRemovals.size();
  for (const std::string_view name : remove_) bound += protobuf::kMaxHead + name.size();
  return bound;
}

char* AllowedHeaders::write(char* to) const {
  OptionWriter options(to);
  limit_headers::add_all(decision_, families_, options);
  to = write_removals(options.there(), options.end_of_options());
  for (const std::string_view name : remove_) to = write_bytes(name, FieldHead(kRemove, name.size()).write(to));
  return to;
}

}  // namespace sluice::agent::rpc
