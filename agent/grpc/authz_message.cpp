#include "agent/grpc/authz_message.hpp"

#include <algorithm>
#include <array>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

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
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

constexpr std::size_t kKeptHeaders = 1024;  // more are freed, because a message can have very many

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
  std::uint32_t field() const { return field_; }
  std::string_view text() const { return text_; }

 private:
  bool read_usual() {
    constexpr std::ptrdiff_t kHead = 2;
    constexpr unsigned kLengthDelimited = 2;
    if (end_ - at_ < kHead) return false;
    const unsigned tag = static_cast<unsigned char>(at_[0]);
    const unsigned size = static_cast<unsigned char>(at_[1]);
    if ((tag & 0x87) != kLengthDelimited || tag == kLengthDelimited || size > 0x7f || end_ - at_ - kHead < size) {
      return false;
    }
    field_ = tag >> 3;
    text_ = {at_ + kHead, size};
    at_ += kHead + size;
    return true;
  }
  [[gnu::noinline]] bool read_rare();

  const char* at_;
  const char* end_;
  std::uint32_t field_ = 0;
  std::string_view text_;
};

bool FieldReader::read_rare() {
  pbf_reader reader(at_, static_cast<std::size_t>(end_ - at_));
  reader.next();
  field_ = reader.tag();
  const bool is_text = reader.wire_type() == pbf_wire_type::length_delimited;
  if (is_text) {
    const protozero::data_view view = reader.get_view();
    text_ = {view.data(), view.size()};
  } else {
    reader.skip();
  }
  at_ = reader.data().data();
  return is_text;
}

// An entry of map<string, string>, and a HeaderValue, whose raw_value stands in for its value.
AuthzMessage::Named read_named(std::string_view entry) {
  AuthzMessage::Named named;
  for (FieldReader reader(entry); reader.next();) {
    if (reader.field() == 1) named.name = reader.text();
    if (reader.field() == 2 || reader.field() == 3) named.text = reader.text();
  }
  return named;
}

void read_header_map(std::string_view bytes, AuthzMessage& out) {
  for (FieldReader reader(bytes); reader.next();) {
    if (reader.field() == 1) out.add_header(read_named(reader.text()));
  }
}

void read_http(std::string_view bytes, AuthzMessage& out) {
  out.is_http = true;
  for (FieldReader reader(bytes); reader.next();) {
    switch (reader.field()) {
      case 2:
        out.method = reader.text();
        break;
      case 3:
        out.add_header(read_named(reader.text()));
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

// All names that write_decision_headers() can write, spelled as there, but Retry-After.
constexpr auto kLimitHeaders = std::to_array<std::string_view>(
    {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit",
     "RateLimit-Partition", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"});

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

// The fields that remove kLimitHeaders, one behind the other.
constexpr std::uint32_t kRemove = 5;
constexpr std::size_t kRemovedBytes = [] {
  std::size_t size = 0;
  for (const std::string_view name : kLimitHeaders) size += field_size(name.size());
  return size;
}();
constexpr auto kRemovedFields = [] {
  std::array<char, kRemovedBytes> fields{};
  char* to = fields.data();
  for (const std::string_view name : kLimitHeaders) {
    *to++ = kRemove << 3 | 2;
    *to++ = static_cast<char>(name.size());
    to = std::ranges::copy(name, to).out;
  }
  return fields;
}();

// Gives the application (field 2) and the client (field 6) the headers of limits. Those that are not among the lines
// are removed from the request (field 5), so that no client can invent them; `others` are removed too.
class AllowedHeaders {
 public:
  AllowedHeaders(std::string_view lines, std::span<const std::string_view> others) : others_(others) {
    std::size_t likely = 0;  // the lines have the order of kLimitHeaders, so the next name is most likely the next line
    for_each_line(lines, [this, &likely](std::string_view name, std::string_view value) {
      const HeaderOption& option = options_.at(count_++) = HeaderOption(name, value);
      size_ += 2 * field_size(option.size());
      for (std::size_t tried = 0; tried < kLimitHeaders.size(); ++tried) {
        const std::size_t i = likely;
        likely = i + 1 == kLimitHeaders.size() ? 0 : i + 1;
        if (name != kLimitHeaders[i]) continue;
        if (!there_[i]) size_ -= field_size(name.size());
        there_[i] = true;
        break;
      }
    });
    for (const std::string_view name : others) size_ += field_size(name.size());
  }

  std::size_t size() const { return size_; }
  char* write(char* to) const {
    for (const HeaderOption& option : std::span(options_).first(count_)) {
      char* const first = to;
      to = option.write(FieldHead(2, option.size()).write(to));
      char* const second = to;
      to = write_bytes({first, second}, second);
      *second = 6 << 3 | 2;
    }
    const char* from = kRemovedFields.data();
    for (std::size_t i = 0; i < kLimitHeaders.size(); ++i) {
      const std::size_t size = field_size(kLimitHeaders[i].size());
      if (!there_[i]) to = write_bytes({from, size}, to);
      from += size;
    }
    for (const std::string_view name : others_) to = write_bytes(name, FieldHead(kRemove, name.size()).write(to));
    return to;
  }

 private:
  static constexpr std::size_t kMostLines = 13;  // three of each of the four families, and Retry-After

  std::span<const std::string_view> others_;
  std::array<HeaderOption, kMostLines> options_;
  std::size_t count_ = 0;
  std::array<bool, kLimitHeaders.size()> there_{};
  std::size_t size_ = kRemovedBytes;
};

}  // namespace

void AuthzMessage::add_header(const Named& header) {
  headers.push_back(header);
  header_sizes_ |= size_bit(header.name);
}

std::string_view AuthzMessage::header(std::string_view name) {
  std::string_view found;
  if ((header_sizes_ & size_bit(name)) == 0) return found;
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
