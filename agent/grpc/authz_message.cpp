#include "agent/grpc/authz_message.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "agent/grpc/allowed_headers.hpp"
#include "agent/grpc/dynamic_metadata.hpp"
#include "common/base/protobuf_parts.hpp"

namespace sluice::agent::rpc {
namespace {

using protobuf::append;
using protobuf::field_size;
using protobuf::FieldHead;
using protobuf::NumberField;
using protobuf::TextField;
using protobuf::write_bytes;
using protobuf::write_message;
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

constexpr std::size_t kKeptHeaders = 1024;  // more are freed, because a message can have very many

// The first two bytes of a field as one number: its tag, and above it the length if that has one byte.
constexpr std::ptrdiff_t kHead = 2;
unsigned head_at(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint16_t head = 0;
  std::memcpy(&head, at, sizeof head);
  return head;
}
constexpr unsigned kTagOfHead = 0x80ff;                               // and the bit of a length that has more bytes
constexpr unsigned tag_of(unsigned field) { return field << 3 | 2; }  // of a text or a message

// The number of the field, less 1; more than kMostField if the field is no text, or its tag or its length is longer.
constexpr unsigned kMostField = 14;
constexpr unsigned field_in(unsigned head) { return std::rotr((head & kTagOfHead) - tag_of(1), 3); }

// Reads the fields of a message that are texts or messages, and skips the others. Nearly all of them have a tag and a
// length of one byte each, so they are read here; protozero reads the rest, and finds what is faulty.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  // Returns false at the end. Throws protozero::exception.
  bool next() {
    while (at_ != end_) {
      if (read_usual() || read_rare()) return true;
    }
    return false;
  }
  // Takes the next field if it is a short text and has this number. Otherwise next() has it.
  template <unsigned kNumber>
  [[gnu::always_inline]] bool take(std::string_view& text) {
    const std::ptrdiff_t room = end_ - at_ - kHead;
    if (room < 0) return false;
    const unsigned head = head_at(at_);
    const std::ptrdiff_t size = head >> 8;
    if ((head & kTagOfHead) != tag_of(kNumber) || size > room) return false;
    text = {at_ + kHead, static_cast<std::size_t>(size)};
    at_ += kHead + size;
    return true;
  }
  std::uint32_t field() const { return field_; }
  std::string_view text() const { return text_; }

 private:
  struct Rare {
    std::uint32_t field = 0;
    bool is_text = false;
    std::string_view text;
    const char* end = nullptr;
  };

  [[gnu::always_inline]] bool read_usual() {
    const std::ptrdiff_t room = end_ - at_ - kHead;
    if (room < 0) return false;
    const unsigned head = head_at(at_);
    const unsigned field = field_in(head);
    const std::ptrdiff_t size = head >> 8;
    if (field > kMostField || size > room) return false;
    field_ = field + 1;
    text_ = {at_ + kHead, static_cast<std::size_t>(size)};
    at_ += kHead + size;
    return true;
  }
  bool read_rare() {
    const Rare read = read_rare(at_, static_cast<std::size_t>(end_ - at_));
    at_ = read.end;
    field_ = read.field;
    text_ = read.text;
    return read.is_text;
  }
  // Has no access to the members, so that they stay in registers.
  [[gnu::noinline]] static Rare read_rare(const char* at, std::size_t size);

  const char* at_;
  const char* end_;
  std::uint32_t field_ = 0;
  std::string_view text_;
};

FieldReader::Rare FieldReader::read_rare(const char* at, std::size_t size) {
  Rare read;
  constexpr std::size_t kLongHead = 3;
  if (size >= kLongHead) {  // a length of two bytes, as the messages around all others have
    const unsigned field = field_in(static_cast<unsigned char>(at[0]));
    const std::size_t low = static_cast<unsigned char>(at[1]);
    const std::size_t high = static_cast<unsigned char>(at[2]);
    const std::size_t length = high << 7 | (low & 0x7f);
    if (field <= kMostField && low > 0x7f && high <= 0x7f && length <= size - kLongHead) {
      return {.field = field + 1, .is_text = true, .text = {at + kLongHead, length}, .end = at + kLongHead + length};
    }
  }
  pbf_reader reader(at, size);
  reader.next();
  read.field = reader.tag();
  read.is_text = reader.wire_type() == pbf_wire_type::length_delimited;
  if (read.is_text) {
    const protozero::data_view view = reader.get_view();
    read.text = {view.data(), view.size()};
  } else {
    reader.skip();
  }
  read.end = reader.data().data();
  return read;
}

[[gnu::noinline]] AuthzMessage::Named read_unusual_named(std::string_view entry) {
  AuthzMessage::Named named;
  for (FieldReader reader(entry); reader.next();) {
    if (reader.field() == 1) named.name = reader.text();
    if (reader.field() == 2 || reader.field() == 3) named.text = reader.text();
  }
  return named;
}

// An entry of map<string, string>, and a HeaderValue, whose raw_value stands in for its value. Nearly all of them have
// a name (field 1) and a text (field 2 or 3) of less than 128 bytes each, in this order, and nothing else.
[[gnu::always_inline]] inline AuthzMessage::Named read_named(std::string_view entry) {
  constexpr std::size_t kHeads = 2 * kHead;
  const char* const at = entry.data();
  if (entry.size() < kHeads) return read_unusual_named(entry);
  const unsigned name_head = head_at(at);
  const std::size_t name = name_head >> 8;
  if ((name_head & kTagOfHead) != tag_of(1) || name > entry.size() - kHeads) return read_unusual_named(entry);
  const unsigned text_head = head_at(at + kHead + name);
  const unsigned text_tag = text_head & kTagOfHead;
  const std::size_t text = text_head >> 8;
  if ((text_tag != tag_of(2) && text_tag != tag_of(3)) || kHeads + name + text != entry.size()) {
    return read_unusual_named(entry);
  }
  return {.name = {at + kHead, name}, .text = {at + kHeads + name, text}};
}

void read_header_map(std::string_view bytes, AuthzMessage& out) {
  for (FieldReader reader(bytes); reader.next();) {
    if (reader.field() == 1) out.add_header(read_named(reader.text()));
  }
}

void read_http(std::string_view bytes, AuthzMessage& out) {
  constexpr unsigned kHeader = 3;
  out.is_http = true;
  for (FieldReader reader(bytes); reader.next();) {
    switch (reader.field()) {
      case 2:
        out.method = reader.text();
        break;
      case kHeader:
        out.add_header(read_named(reader.text()));
        for (std::string_view entry; reader.take<kHeader>(entry);) out.add_header(read_named(entry));
        break;
      case 4:
        out.path = reader.text();
        break;
      case 5:
        out.host = reader.text();
        break;
      case 13:
        read_header_map(reader.text(), out);
        break;
      default:
        break;
    }
  }
}

void read_socket_address(std::string_view bytes, AuthzMessage& out) {
  out.source_is_named = true;
  for (FieldReader reader(bytes); reader.next();) {
    if (reader.field() == 2) out.source = reader.text();
  }
}

// Calls `read(bytes, out)` for the message in `field`, which may be cut into several.
template <class Read>
void read_inner(std::string_view bytes, std::uint32_t field, AuthzMessage& out, Read read) {
  for (FieldReader reader(bytes); reader.next();) {
    if (reader.field() == field) read(reader.text(), out);
  }
}

void read_peer(std::string_view bytes, AuthzMessage& out) {
  read_inner(bytes, 1, out, [](std::string_view address, AuthzMessage& message) {
    read_inner(address, 1, message, read_socket_address);
  });
}

void read_attributes(std::string_view bytes, AuthzMessage& out) {
  for (FieldReader reader(bytes); reader.next();) {
    switch (reader.field()) {
      case 1:
        read_peer(reader.text(), out);
        break;
      case 4:
        read_inner(reader.text(), 2, out, read_http);
        break;
      case 10:
        out.extensions.push_back(read_named(reader.text()));
        break;
      default:
        break;
    }
  }
}

// Calls `take(name, value)` for each of the header lines, "Name: value\r\n".
template <class Take>
void for_each_line(std::string_view lines, Take take) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\r'));
    const std::size_t colon = line.find(':');
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

}  // namespace

void AuthzMessage::add_header(const Named& header) {
  headers.push_back(header);
  header_sizes_ |= size_bit(header.name);
}

std::string_view AuthzMessage::find_header(std::string_view name) {
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
  header_sizes_ = 0;
  for (std::vector<Named>* list : {&headers, &extensions}) {
    list->clear();
    if (list->capacity() > kKeptHeaders) *list = {};
  }
  if (!joined_.empty()) joined_.clear();
}

bool read_authz_message(std::string_view message, AuthzMessage& out) {
  out.clear();
  try {
    read_inner(message, 1, out, read_attributes);
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

void write_authz_allowed(const Decision& decision, HeaderFamilies families, std::span<const std::string_view> remove,
                         std::string& text) {
  using namespace std::string_view_literals;
  constexpr std::string_view kStatusOk = "\x0a\x02\x08\x00"sv;
  const AllowedHeaders headers(decision, families, remove);
  const DynamicMetadata metadata(decision);
  const std::size_t before = text.size();
  const std::size_t bound = kStatusOk.size() + 2 * protobuf::kMaxHead + headers.bound() + metadata.bound();
  text.resize_and_overwrite(before + bound, [&](char* bytes, std::size_t) {
    char* to = write_bytes(kStatusOk, bytes + before);
    to = write_message(3, to, [&headers](char* at) { return headers.write(at); });
    to = write_message(4, to, [&metadata](char* at) { return metadata.write(at); });
    return to - bytes;
  });
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
  const std::size_t before = text.size();
  text.resize_and_overwrite(before + protobuf::kMaxHead + metadata.bound(), [&](char* bytes, std::size_t) {
    return write_message(4, bytes + before, [&metadata](char* at) { return metadata.write(at); }) - bytes;
  });
}

}  // namespace sluice::agent::rpc
