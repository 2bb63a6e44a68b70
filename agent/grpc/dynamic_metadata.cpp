#include "agent/grpc/dynamic_metadata.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/base/protobuf_parts.hpp"
#include "common/domain/decision_time.hpp"

namespace sluice::agent::rpc {
namespace {

using protobuf::field_size;
using protobuf::FieldHead;
using protobuf::write_bytes;

// A name that is known when this is compiled, so that all bytes around the value are known too.
template <std::size_t kSize>
struct Name {
  consteval Name(const char (&text)[kSize]) { std::copy_n(text, kSize, bytes.begin()); }
  constexpr std::string_view text() const { return {bytes.data(), kSize - 1}; }

  std::array<char, kSize> bytes{};
};

// The bytes of a member of a Struct in front of the bytes of a value of one size, which follow a tag of their own.
template <Name kName, char kTag, std::size_t kValue>
constexpr auto kHead = [] {
  constexpr std::size_t kOfName = field_size(kName.text().size());
  constexpr std::size_t kOfValue = 1 + kValue;
  static_assert(kOfName + field_size(kOfValue) < 0x80);
  std::array<char, 2 + kOfName + 3> head{'\x0a', static_cast<char>(kOfName + field_size(kOfValue)), '\x0a',
                                         static_cast<char>(kName.text().size())};
  char* const to = std::ranges::copy(kName.text(), head.data() + 4).out;
  std::ranges::copy(std::array{'\x12', static_cast<char>(kOfValue), kTag}, to);
  return head;
}();
constexpr std::size_t kFlag = 1;
constexpr std::size_t kNumber = sizeof(double);
template <Name kName>
constexpr auto kFlagHead = kHead<kName, '\x20', kFlag>;
template <Name kName>
constexpr auto kNumberHead = kHead<kName, '\x11', kNumber>;

// The same for a text. The three lengths that depend on it are still 0; they have one byte each if the text is short.
template <Name kName>
constexpr auto kTextHead = [] {
  constexpr std::string_view kText = kName.text();
  std::array<char, 4 + kText.size() + 4> head{'\x0a', '\0', '\x0a', static_cast<char>(kText.size())};
  std::ranges::copy(std::array{'\x12', '\0', '\x1a', '\0'}, std::ranges::copy(kText, head.data() + 4).out);
  return head;
}();

constexpr std::size_t text_member_content(std::size_t name, std::size_t text) {
  return field_size(name) + field_size(field_size(text));
}

char* write_text_member(std::string_view name, std::string_view text, char* to) {
  to = FieldHead(1, text_member_content(name.size(), text.size())).write(to);
  to = write_bytes(name, FieldHead(1, name.size()).write(to));
  to = FieldHead(2, field_size(text.size())).write(to);
  return write_bytes(text, FieldHead(3, text.size()).write(to));
}

class Writer {
 public:
  explicit Writer(char* to) : to_(to) {}
  char* end() const { return to_; }

  template <Name kName>
  void add_flag(bool set) {
    copy(kFlagHead<kName>);
    *to_++ = set ? '\x01' : '\x00';
  }
  template <Name kName>
  void add_number(std::int64_t number) {
    static_assert(std::endian::native == std::endian::little);
    copy(kNumberHead<kName>);
    copy(std::bit_cast<std::array<char, kNumber>>(static_cast<double>(number)));
  }
  template <Name kName>
  void add_text(std::string_view text) {
    if (text.empty()) return;
    constexpr auto& kStart = kTextHead<kName>;
    constexpr std::size_t kMember = 2;  // bytes of the tag and the length of the member
    const std::size_t member = kStart.size() - kMember + text.size();
    if (member >= 0x80) [[unlikely]] {
      to_ = write_text_member(kName.text(), text, to_);
      return;
    }
    char* const begin = to_;
    copy(kStart);
    begin[1] = static_cast<char>(member);
    to_[-3] = static_cast<char>(2 + text.size());
    to_[-1] = static_cast<char>(text.size());
    to_ = write_bytes(text, to_);
  }

 private:
  template <std::size_t kSize>
  void copy(const std::array<char, kSize>& bytes) {
    std::memcpy(to_, bytes.data(), kSize);
    to_ += kSize;
  }

  char* to_;
};

void add_members(const Decision& decision, Writer& out) {
  out.add_flag<"allowed">(decision.allowed);
  out.add_text<"action">(to_string(decision.action));
  out.add_text<"reason">(to_string(decision.reason));
  if (decision.has_limit) {
    out.add_number<"limit">(decision.report.limit);
    out.add_number<"remaining">(decision.report.remaining);
    out.add_number<"reset_at">(unix_seconds_up(decision.now_us, decision.report.reset_after_us));
    out.add_text<"limit_name">(decision.limit_name);
  }
  if (!decision.policy_id.empty()) {
    out.add_text<"policy_id">(decision.policy_id);
    out.add_number<"policy_version">(decision.policy_version);
  }
  out.add_text<"plan_id">(decision.plan_id);
  out.add_flag<"shadow">(decision.shadow);
  if (decision.shadow) out.add_flag<"would_allow">(decision.would_allow);
  if (decision.action == Action::downgrade) out.add_text<"downgrade_to">(decision.downgrade_to);
  out.add_text<"request_id">(decision.request_id);
}

// The member `metadata`, a Struct too. A policy without any has no such member.
constexpr std::string_view kOfPolicy = "metadata";

std::size_t of_policy_content(std::size_t members) {
  return field_size(kOfPolicy.size()) + field_size(field_size(members));
}

char* write_of_policy(const Metadata& texts, std::size_t members, char* to) {
  to = FieldHead(1, of_policy_content(members)).write(to);
  to = write_bytes(kOfPolicy, FieldHead(1, kOfPolicy.size()).write(to));
  to = FieldHead(2, field_size(members)).write(to);
  to = FieldHead(5, members).write(to);
  for (const auto& [name, text] : texts) to = write_text_member(name, text, to);
  return to;
}

}  // namespace

DynamicMetadata::DynamicMetadata(const Decision& decision) : decision_(decision) {
  if (decision.metadata == nullptr) return;
  for (const auto& [name, text] : *decision.metadata) {
    of_policy_ += field_size(text_member_content(name.size(), text.size()));
  }
}

std::size_t DynamicMetadata::bound() const {
  constexpr std::size_t kMostMembers = 16;
  constexpr std::size_t kAround = 4 * protobuf::kMaxHead + std::string_view("policy_version").size() + kNumber;
  const std::size_t texts = to_string(decision_.action).size() + to_string(decision_.reason).size() +
                            decision_.limit_name.size() + decision_.policy_id.size() + decision_.plan_id.size() +
                            decision_.downgrade_to.size() + decision_.request_id.size();
  return kMostMembers * kAround + texts + of_policy_;
}

char* DynamicMetadata::write(char* to) const {
  Writer writer(to);
  add_members(decision_, writer);
  return of_policy_ == 0 ? writer.end() : write_of_policy(*decision_.metadata, of_policy_, writer.end());
}

}  // namespace sluice::agent::rpc
