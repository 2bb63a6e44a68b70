#include "agent/grpc/authz_message.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "common/base/protobuf_parts.hpp"
#include "common/domain/decision_time.hpp"

namespace sluice::agent::rpc {
namespace {

using protobuf::append;
using protobuf::field_size;
using protobuf::FieldHead;
using protobuf::NumberField;
using protobuf::TextField;
using protobuf::write_bytes;
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;
using protozero::tag_and_type;

constexpr std::size_t kKeptHeaders = 1024;  // more are freed, because a message can have very many

constexpr std::uint64_t bytes(std::uint32_t field) { return tag_and_type(field, pbf_wire_type::length_delimited); }

std::string_view text_of(pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

// Nearly all entries are: 0x0A, the length of the name, the name, 0x12, the length of the text, the text. Each length
// is one byte. Returns false if this one is something else.
bool read_usual(std::string_view entry, AuthzMessage::Named& out) {
  constexpr std::size_t kHeads = 4;
  if (entry.size() < kHeads || entry[0] != '\x0a') return false;
  const std::size_t name = static_cast<unsigned char>(entry[1]);
  if (name > 0x7f || entry.size() < kHeads + name || entry[2 + name] != '\x12') return false;
  const std::size_t text = static_cast<unsigned char>(entry[3 + name]);
  if (text > 0x7f || entry.size() != kHeads + name + text) return false;
  out = {entry.substr(2, name), entry.substr(kHeads + name)};
  return true;
}

// An entry of map<string, string>, and a HeaderValue, whose raw_value stands in for its value.
AuthzMessage::Named read_named(std::string_view entry) {
  AuthzMessage::Named named;
  if (read_usual(entry, named)) return named;
  pbf_reader reader(entry.data(), entry.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes(1):
        named.name = text_of(reader);
        break;
      case bytes(2):
      case bytes(3):
        named.text = text_of(reader);
        break;
      default:
        reader.skip();
    }
  }
  return named;
}

void read_header_map(pbf_reader reader, AuthzMessage& out) {
  while (reader.next()) {
    if (reader.tag_and_type() == bytes(1)) {
      out.headers.push_back(read_named(text_of(reader)));
    } else {
      reader.skip();
    }
  }
}

void read_http(pbf_reader reader, AuthzMessage& out) {
  out.is_http = true;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes(2):
        out.method = text_of(reader);
        break;
      case bytes(3):
        out.headers.push_back(read_named(text_of(reader)));
        break;
      case bytes(4):
        out.path = text_of(reader);
        break;
      case bytes(5):
        out.host = text_of(reader);
        break;
      case bytes(13):
        read_header_map(reader.get_message(), out);
        break;
      default:
        reader.skip();
    }
  }
}

void read_socket_address(pbf_reader reader, AuthzMessage& out) {
  out.source_is_named = true;
  while (reader.next()) {
    if (reader.tag_and_type() == bytes(2)) {
      out.source = text_of(reader);
    } else {
      reader.skip();
    }
  }
}

// Calls `read(reader, out)` for the message in `field`, which may be cut into several.
template <class Read>
void read_inner(pbf_reader reader, std::uint32_t field, AuthzMessage& out, Read read) {
  while (reader.next()) {
    if (reader.tag_and_type() == bytes(field)) {
      read(reader.get_message(), out);
    } else {
      reader.skip();
    }
  }
}

void read_peer(pbf_reader peer, AuthzMessage& out) {
  read_inner(peer, 1, out,
             [](pbf_reader address, AuthzMessage& message) { read_inner(address, 1, message, read_socket_address); });
}

void read_attributes(pbf_reader reader, AuthzMessage& out) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes(1):
        read_peer(reader.get_message(), out);
        break;
      case bytes(4):
        read_inner(reader.get_message(), 2, out, read_http);
        break;
      case bytes(10):
        out.extensions.push_back(read_named(text_of(reader)));
        break;
      default:
        reader.skip();
    }
  }
}

// All names that write_decision_headers() can write, spelled as there, but Retry-After.
constexpr auto kLimitHeaders = std::to_array<std::string_view>(
    {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit",
     "RateLimit-Partition", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"});

// Calls `take(name, value)` for each of the header lines.
template <class Take>
void for_each_line(std::string_view lines, Take take) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    const std::size_t colon = line.find(": ");
    take(line.substr(0, colon), line.substr(colon + 2));
    lines.remove_prefix(std::min(lines.size(), line.size() + 2));
  }
}

// A HeaderValueOption that replaces what is there.
class HeaderOption {
 public:
  HeaderOption() = default;
  HeaderOption(std::string_view name, std::string_view value)
      : name_(name), value_(value), content_(field_size(name.size()) + field_size(value.size())) {}

  std::size_t size() const { return field_size(content_) + kOverwrite.size(); }
  char* write(char* to) const {
    to = FieldHead(1, content_).write(to);
    to = write_bytes(name_, FieldHead(1, name_.size()).write(to));
    to = write_bytes(value_, FieldHead(2, value_.size()).write(to));
    return write_bytes(kOverwrite, to);
  }

 private:
  static constexpr std::string_view kOverwrite = "\x18\x02";  // OVERWRITE_IF_EXISTS_OR_ADD

  std::string_view name_;
  std::string_view value_;
  std::size_t content_ = 0;
};

// To a DeniedHttpResponse.
void add_header(std::string& out, std::string_view name, std::string_view value) {
  const HeaderOption option(name, value);
  append(out, FieldHead(2, option.size()), option);
}

// Gives the application (field 2) and the client (field 6) the headers of limits. Those that are not among the lines
// are removed from the request (field 5), so that no client can invent them; `others` are removed too.
class AllowedHeaders {
 public:
  AllowedHeaders(std::string_view lines, std::span<const std::string_view> others) : others_(others) {
    for_each_line(lines, [this](std::string_view name, std::string_view value) {
      const HeaderOption& option = options_.at(count_++) = HeaderOption(name, value);
      size_ += 2 * field_size(option.size());
      for (std::size_t i = 0; i < kLimitHeaders.size(); ++i) {
        if (name == kLimitHeaders[i]) there_[i] = true;
      }
    });
    for (std::size_t i = 0; i < kLimitHeaders.size(); ++i) {
      if (!there_[i]) size_ += field_size(kLimitHeaders[i].size());
    }
    for (const std::string_view name : others) size_ += field_size(name.size());
  }

  std::size_t size() const { return size_; }
  char* write(char* to) const {
    for (const HeaderOption& option : std::span(options_).first(count_)) {
      char* const first = to;
      to = option.write(FieldHead(2, option.size()).write(to));
      char* const second = to;
      to = write_bytes({first, second}, second);
      *second = static_cast<char>(bytes(6));
    }
    for (std::size_t i = 0; i < kLimitHeaders.size(); ++i) {
      if (!there_[i]) to = write_removed(kLimitHeaders[i], to);
    }
    for (const std::string_view name : others_) to = write_removed(name, to);
    return to;
  }

 private:
  static constexpr std::size_t kMostLines = 13;  // three of each of the four families, and Retry-After

  static char* write_removed(std::string_view name, char* to) {
    return write_bytes(name, FieldHead(5, name.size()).write(to));
  }

  std::span<const std::string_view> others_;
  std::array<HeaderOption, kMostLines> options_;
  std::size_t count_ = 0;
  std::array<bool, kLimitHeaders.size()> there_{};
  std::size_t size_ = 0;
};

// A member of a google.protobuf.Struct.
class Member {
 public:
  Member() = default;
  Member(std::string_view name, std::string_view text) : name_(name), text_(text) {
    end(FieldHead(3, text.size()).write(value_.data()));
  }
  Member(std::string_view name, std::int64_t number) : name_(name) {
    static_assert(std::endian::native == std::endian::little);
    value_[0] = '\x11';
    const auto bits = std::bit_cast<std::array<char, sizeof(double)>>(static_cast<double>(number));
    end(write_bytes({bits.data(), bits.size()}, value_.data() + 1));
  }
  Member(std::string_view name, bool set) : name_(name) {
    value_[0] = '\x20';
    value_[1] = set ? '\x01' : '\x00';
    end(value_.data() + 2);
  }

  std::size_t size() const { return field_size(content()); }
  char* write(char* to) const {
    to = FieldHead(1, content()).write(to);
    to = write_bytes(name_, FieldHead(1, name_.size()).write(to));
    to = FieldHead(2, value_size_ + text_.size()).write(to);
    return write_bytes(text_, write_bytes({value_.data(), value_size_}, to));
  }

 private:
  void end(const char* at) { value_size_ = static_cast<std::size_t>(at - value_.data()); }
  std::size_t content() const { return field_size(name_.size()) + field_size(value_size_ + text_.size()); }

  std::string_view name_;
  std::array<char, 16> value_;  // of a text only what is in front of it
  std::size_t value_size_ = 0;
  std::string_view text_;
};

// The member `metadata`, a Struct too. Nothing if the policy has none.
class PolicyMetadata {
 public:
  explicit PolicyMetadata(const Metadata* texts) : texts_(texts) {
    if (texts == nullptr || texts->empty()) return;
    for (const auto& [name, text] : *texts) content_ += Member(name, std::string_view(text)).size();
    size_ = field_size(member_content());
  }

  std::size_t size() const { return size_; }
  char* write(char* to) const {
    if (size_ == 0) return to;
    to = FieldHead(1, member_content()).write(to);
    to = write_bytes(kName, FieldHead(1, kName.size()).write(to));
    to = FieldHead(2, field_size(content_)).write(to);
    to = FieldHead(5, content_).write(to);
    for (const auto& [name, text] : *texts_) to = Member(name, std::string_view(text)).write(to);
    return to;
  }

 private:
  static constexpr std::string_view kName = "metadata";
  std::size_t member_content() const { return field_size(kName.size()) + field_size(field_size(content_)); }

  const Metadata* texts_;
  std::size_t content_ = 0;  // the size of its Struct
  std::size_t size_ = 0;
};

// The members are those of the answer to a check.
class DynamicMetadata {
 public:
  explicit DynamicMetadata(const Decision& decision) : of_policy_(decision.metadata), size_(of_policy_.size()) {
    add("allowed", decision.allowed);
    add_text("action", to_string(decision.action));
    add_text("reason", to_string(decision.reason));
    if (decision.has_limit) {
      add("limit", decision.report.limit);
      add("remaining", decision.report.remaining);
      add("reset_at", unix_seconds_up(decision.now_us, decision.report.reset_after_us));
      add_text("limit_name", decision.limit_name);
    }
    if (!decision.policy_id.empty()) {
      add("policy_id", decision.policy_id);
      add("policy_version", static_cast<std::int64_t>(decision.policy_version));
    }
    add_text("plan_id", decision.plan_id);
    add("shadow", decision.shadow);
    if (decision.shadow) add("would_allow", decision.would_allow);
    if (decision.action == Action::downgrade) add_text("downgrade_to", decision.downgrade_to);
    add_text("request_id", decision.request_id);
  }

  std::size_t size() const { return size_; }
  char* write(char* to) const {
    for (const Member& member : std::span(members_).first(count_)) to = member.write(to);
    return of_policy_.write(to);
  }

 private:
  template <class Value>
  void add(std::string_view name, Value value) {
    const Member& member = members_.at(count_++) = Member(name, value);
    size_ += member.size();
  }
  void add_text(std::string_view name, std::string_view text) {
    if (!text.empty()) add(name, text);
  }

  PolicyMetadata of_policy_;
  std::array<Member, 16> members_;
  std::size_t count_ = 0;
  std::size_t size_;
};

}  // namespace

std::string_view AuthzMessage::header(std::string_view name) {
  std::string_view found;
  std::string* joined = nullptr;
  for (const Named& each : headers) {
    if (each.name != name) continue;
    if (found.data() == nullptr) {
      found = each.text;
      continue;
    }
    if (joined == nullptr) joined = &joined_.emplace_back(found);
    joined->append(", ").append(each.text);
  }
  return joined == nullptr ? found : *joined;
}

std::string_view AuthzMessage::extension(std::string_view name) const {
  const auto found = std::ranges::find(extensions, name, &Named::name);
  return found == extensions.end() ? std::string_view() : found->text;
}

void AuthzMessage::clear() {
  is_http = source_is_named = false;
  source = method = path = host = {};
  for (std::vector<Named>* list : {&headers, &extensions}) {
    list->clear();
    if (list->capacity() > kKeptHeaders) *list = {};
  }
  joined_.clear();
}

bool read_authz_message(std::string_view message, AuthzMessage& out) {
  out.clear();
  try {
    read_inner(pbf_reader(message.data(), message.size()), 1, out, read_attributes);
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

void write_authz_allowed(const Decision& decision, const http::Response& answer,
                         std::span<const std::string_view> remove, std::string& text) {
  using namespace std::string_view_literals;
  constexpr std::string_view kStatusOk = "\x0a\x02\x08\x00"sv;
  const AllowedHeaders headers(answer.headers, remove);
  const DynamicMetadata metadata(decision);
  append(text, kStatusOk, FieldHead(3, headers.size()), headers, FieldHead(4, metadata.size()), metadata);
}

void write_authz_denied(grpc::Code code, const http::Response& answer, const Decision* decision, std::string& text) {
  const NumberField rpc_code(1, static_cast<std::uint64_t>(code));
  append(text, FieldHead(1, rpc_code.size()), rpc_code);
  {
    pbf_writer out(text);
    pbf_writer denied(out, 2);
    const NumberField http_status(1, static_cast<std::uint64_t>(answer.status));
    append(text, FieldHead(1, http_status.size()), http_status);
    if (!answer.content_type.empty()) add_header(text, "content-type", answer.content_type);
    for_each_line(answer.headers,
                  [&text](std::string_view name, std::string_view value) { add_header(text, name, value); });
    append(text, TextField(3, answer.content()));
  }
  if (decision == nullptr) return;
  const DynamicMetadata metadata(*decision);
  append(text, FieldHead(4, metadata.size()), metadata);
}

}  // namespace sluice::agent::rpc
