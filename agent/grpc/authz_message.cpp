#include "agent/grpc/authz_message.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "common/domain/decision_time.hpp"

namespace sluice::agent::rpc {
namespace {

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

// An entry of map<string, string>, and a HeaderValue, whose raw_value stands in for its value.
AuthzMessage::Named read_named(pbf_reader reader) {
  AuthzMessage::Named named;
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
      out.headers.push_back(read_named(reader.get_message()));
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
        out.headers.push_back(read_named(reader.get_message()));
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
        out.extensions.push_back(read_named(reader.get_message()));
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

// The tag and the length in front of a field's content. With it, a message that lies in another one is written as it is
// read, from front to end: a writer for it would have to move it when its size is known.
class FieldHead {
 public:
  // REQUIRES: field < 16.
  FieldHead(std::uint32_t field, std::size_t content)
      : tag_(static_cast<char>(bytes(field))),
        content_(content),
        size_(1 + static_cast<std::size_t>(protozero::length_of_varint(content))) {}

  std::size_t size() const { return size_; }
  char* write(char* to) const {
    *to++ = tag_;
    return to + protozero::add_varint_to_buffer(to, content_);
  }

 private:
  char tag_;
  std::size_t content_;
  std::size_t size_;
};

char* write(const FieldHead& head, char* to) { return head.write(to); }
char* write(std::string_view text, char* to) { return to + text.copy(to, text.size()); }

// Appends the parts, one behind the other.
template <class... Parts>
void append(std::string& out, const Parts&... parts) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + (parts.size() + ...), [&](char* text, std::size_t) {
    char* to = text + before;
    ((to = write(parts, to)), ...);
    return to - text;
  });
}

void add_text(std::string& out, std::uint32_t field, std::string_view text) {
  append(out, FieldHead(field, text.size()), text);
}

// A HeaderValueOption that replaces what is there.
class HeaderOption {
 public:
  HeaderOption(std::string_view name, std::string_view value)
      : name_(name),
        value_(value),
        name_head_(1, name.size()),
        value_head_(2, value.size()),
        header_head_(1, name_head_.size() + name.size() + value_head_.size() + value.size()) {}

  void add_to(std::string& out, std::uint32_t field) const {
    constexpr std::string_view kOverwrite = "\x18\x02";  // OVERWRITE_IF_EXISTS_OR_ADD
    const std::size_t header = name_head_.size() + name_.size() + value_head_.size() + value_.size();
    const FieldHead head(field, header_head_.size() + header + kOverwrite.size());
    append(out, head, header_head_, name_head_, name_, value_head_, value_, kOverwrite);
  }

 private:
  std::string_view name_;
  std::string_view value_;
  FieldHead name_head_;
  FieldHead value_head_;
  FieldHead header_head_;
};

// Gives the application and the client the headers of limits. Those that are not among the lines are removed from the
// request, so that no client can invent them.
void add_limit_headers(std::string& allowed, std::string_view lines) {
  std::array<bool, kLimitHeaders.size()> there{};
  for_each_line(lines, [&](std::string_view name, std::string_view value) {
    const HeaderOption option(name, value);
    option.add_to(allowed, 2);
    option.add_to(allowed, 6);
    for (std::size_t i = 0; i < kLimitHeaders.size(); ++i) {
      if (name == kLimitHeaders[i]) there[i] = true;
    }
  });
  for (std::size_t i = 0; i < kLimitHeaders.size(); ++i) {
    if (!there[i]) add_text(allowed, 5, kLimitHeaders[i]);
  }
}

void add_status(pbf_writer& out, grpc::Code code) {
  pbf_writer status(out, 1);
  status.add_int32(1, static_cast<std::int32_t>(code));
}

// Writes the members of a google.protobuf.Struct.
class StructWriter {
 public:
  StructWriter(std::string& out, std::uint32_t field) : out_(out), parent_(out), message_(parent_, field) {}

  void add_text(std::string_view name, std::string_view text) {
    if (!text.empty()) add_member(name, FieldHead(3, text.size()), text);
  }
  void add_number(std::string_view name, std::int64_t number) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::string_view kTag = "\x11";
    const auto value = std::bit_cast<std::array<char, sizeof(double)>>(static_cast<double>(number));
    add_member(name, kTag, std::string_view(value.data(), value.size()));
  }
  void add_bool(std::string_view name, bool set) {
    using namespace std::string_view_literals;
    add_member(name, set ? "\x20\x01"sv : "\x20\x00"sv);
  }
  void add_texts(std::string_view name, const Metadata& texts) {
    pbf_writer member(message_, 1);
    rpc::add_text(out_, 1, name);
    pbf_writer value(member, 2);
    StructWriter object(out_, 5);
    for (const auto& [key, text] : texts) object.add_text(key, text);
  }

 private:
  // `value`: the parts of a google.protobuf.Value.
  template <class... Parts>
  void add_member(std::string_view name, const Parts&... value) {
    const FieldHead name_head(1, name.size());
    const FieldHead value_head(2, (value.size() + ...));
    const std::size_t size = name_head.size() + name.size() + value_head.size() + (value.size() + ...);
    append(out_, FieldHead(1, size), name_head, name, value_head, value...);
  }

  std::string& out_;
  pbf_writer parent_;
  pbf_writer message_;
};

// The members are those of the answer to a check.
void add_dynamic_metadata(std::string& answer, const Decision& decision) {
  StructWriter out(answer, 4);
  out.add_bool("allowed", decision.allowed);
  out.add_text("action", to_string(decision.action));
  out.add_text("reason", to_string(decision.reason));
  if (decision.has_limit) {
    out.add_number("limit", decision.report.limit);
    out.add_number("remaining", decision.report.remaining);
    out.add_number("reset_at", unix_seconds_up(decision.now_us, decision.report.reset_after_us));
    out.add_text("limit_name", decision.limit_name);
  }
  if (!decision.policy_id.empty()) {
    out.add_text("policy_id", decision.policy_id);
    out.add_number("policy_version", decision.policy_version);
  }
  out.add_text("plan_id", decision.plan_id);
  out.add_bool("shadow", decision.shadow);
  if (decision.shadow) out.add_bool("would_allow", decision.would_allow);
  if (decision.action == Action::downgrade) out.add_text("downgrade_to", decision.downgrade_to);
  if (decision.metadata != nullptr && !decision.metadata->empty()) out.add_texts("metadata", *decision.metadata);
  out.add_text("request_id", decision.request_id);
}

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
  pbf_writer out(text);
  add_status(out, grpc::Code::ok);
  {
    pbf_writer allowed(out, 3);
    add_limit_headers(text, answer.headers);
    for (const std::string_view name : remove) add_text(text, 5, name);
  }
  add_dynamic_metadata(text, decision);
}

void write_authz_denied(grpc::Code code, const http::Response& answer, const Decision* decision, std::string& text) {
  pbf_writer out(text);
  add_status(out, code);
  {
    pbf_writer denied(out, 2);
    {
      pbf_writer status(denied, 1);
      status.add_enum(1, static_cast<std::int32_t>(answer.status));
    }
    if (!answer.content_type.empty()) HeaderOption("content-type", answer.content_type).add_to(text, 2);
    for_each_line(answer.headers, [&text](std::string_view name, std::string_view value) {
      HeaderOption(name, value).add_to(text, 2);
    });
    add_text(text, 3, answer.content());
  }
  if (decision != nullptr) add_dynamic_metadata(text, *decision);
}

}  // namespace sluice::agent::rpc
