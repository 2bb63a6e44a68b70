#include "agent/rls/wire.hpp"

#include <charconv>
#include <exception>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <fmt/core.h>

#include "common/base/protobuf_parts.hpp"
#include "common/base/utf8.hpp"
#include "common/json/tree.hpp"

namespace sluice::agent::rls {
namespace {

using protobuf::FieldHead;
using protobuf::NumberField;
using protobuf::TextField;
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;
using protozero::tag_and_type;

// An exception, because the reader has exceptions too.
struct Unreadable : std::exception {
  explicit Unreadable(std::string its_text) : text(std::move(its_text)) {}
  std::string text;
};

constexpr std::size_t kShort = 127;     // the largest length, in bytes, that fits into one byte
constexpr std::size_t kShortName = 64;  // bytes of a limit's name: with it, a status stays short

constexpr std::uint64_t varint(std::uint32_t field) { return tag_and_type(field, pbf_wire_type::varint); }
constexpr std::uint64_t bytes(std::uint32_t field) { return tag_and_type(field, pbf_wire_type::length_delimited); }

void require_utf8(std::string_view text) {
  if (!is_utf8(text)) throw Unreadable("A text of the request is not UTF-8.");
}

std::string_view text_of(pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  const std::string_view text(view.data(), view.size());
  require_utf8(text);
  return text;
}

// Reads an entry as nearly all are: a key and then a value, each of less than 128 bytes. Returns false for any other
// one.
bool read_plain_entry(std::string_view message, rls_config::Entry& entry) {
  constexpr char kKey = 1 << 3 | 2, kValue = 2 << 3 | 2;
  constexpr std::size_t kHead = 2, kTooLong = 128;
  const auto length_at = [message](std::size_t at) { return std::size_t{static_cast<unsigned char>(message[at])}; };
  if (message.size() < 2 * kHead || message[0] != kKey) return false;
  const std::size_t key = length_at(1), value_at = kHead + key;
  if (key >= kTooLong || message.size() < value_at + kHead || message[value_at] != kValue) return false;
  const std::size_t value = length_at(value_at + 1);
  if (value >= kTooLong || message.size() != value_at + kHead + value) return false;
  entry = {message.substr(kHead, key), message.substr(value_at + kHead)};
  if (is_ascii(message)) return true;
  require_utf8(entry.key);
  require_utf8(entry.value);
  return true;
}

rls_config::Entry read_entry(const protozero::data_view& message) {
  rls_config::Entry entry;
  if (read_plain_entry({message.data(), message.size()}, entry)) return entry;
  pbf_reader reader(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes(1):
        entry.key = text_of(reader);
        break;
      case bytes(2):
        entry.value = text_of(reader);
        break;
      default:
        reader.skip();
    }
  }
  return entry;
}

LimitOverride read_limit(pbf_reader reader) {
  LimitOverride limit;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case varint(1):
        limit.requests_per_unit = reader.get_uint32();
        break;
      case varint(2):
        limit.unit = reader.get_uint64();
        break;
      default:
        reader.skip();
    }
  }
  return limit;
}

// A google.protobuf.UInt64Value.
std::uint64_t read_wrapped(pbf_reader reader) {
  std::uint64_t value = 0;
  while (reader.next()) {
    if (reader.tag_and_type() == varint(1)) {
      value = reader.get_uint64();
    } else {
      reader.skip();
    }
  }
  return value;
}

void read_descriptor(pbf_reader reader, Descriptor& descriptor) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes(1):
        if (descriptor.entries.size() == kMaxEntries) {
          throw Unreadable(fmt::format("A descriptor has at most {} entries.", kMaxEntries));
        }
        descriptor.entries.push_back(read_entry(reader.get_view()));
        break;
      case bytes(2):
        descriptor.limit = read_limit(reader.get_message());
        break;
      case bytes(3):
        descriptor.hits_addend = read_wrapped(reader.get_message());
        break;
      case varint(4):
        // get_bool() reads its first byte without looking for the end of the message.
        descriptor.is_negative_hits = reader.get_uint64() != 0;
        break;
      default:
        reader.skip();
    }
  }
}

void read_request(pbf_reader reader, Request& request) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes(1):
        request.domain = text_of(reader);
        break;
      case bytes(2):
        if (request.descriptors.size() == kMaxDescriptors) {
          throw Unreadable(fmt::format("A request has at most {} descriptors.", kMaxDescriptors));
        }
        read_descriptor(reader.get_message(), request.descriptors.emplace_back());
        break;
      case varint(3):
        request.hits_addend = reader.get_uint32();
        break;
      default:
        reader.skip();
    }
  }
}

// A status whose messages are all shorter than 128 bytes.
void append_short_status(const Status& status, std::string& out) {
  const CurrentLimit& limit = *status.limit;
  const auto write_limit = [&limit](char* to) {
    to = NumberField(1, limit.requests_per_unit).write(to);
    to = NumberField(2, static_cast<std::uint64_t>(limit.unit)).write(to);
    return TextField(3, limit.name).write(to);
  };
  const auto write_duration = [&status](char* to) {
    return NumberField(1, static_cast<std::uint64_t>(status.reset_seconds)).write(to);
  };
  const auto write_status = [&](char* to) {
    to = NumberField(1, static_cast<std::uint64_t>(status.code)).write(to);
    to = protobuf::write_short_message(2, to, write_limit);
    to = NumberField(3, status.remaining).write(to);
    return protobuf::write_short_message(4, to, write_duration);
  };
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + kShort, [&](char* bytes, std::size_t) {
    return protobuf::write_short_message(2, bytes + before, write_status) - bytes;
  });
}

void append_status(const Status& status, std::string& out) {
  if (status.limit && status.limit->name.size() <= kShortName) return append_short_status(status, out);
  const NumberField code(1, static_cast<std::uint64_t>(status.code));
  const NumberField remaining(3, status.remaining);
  if (!status.limit) {
    protobuf::append(out, FieldHead(2, code.size() + remaining.size()), code, remaining);
    return;
  }
  const NumberField requests(1, status.limit->requests_per_unit);
  const NumberField unit(2, static_cast<std::uint64_t>(status.limit->unit));
  const TextField name(3, status.limit->name);
  const FieldHead limit(2, requests.size() + unit.size() + name.size());
  const NumberField seconds(1, static_cast<std::uint64_t>(status.reset_seconds));
  const FieldHead duration(4, seconds.size());
  const std::size_t size = code.size() + limit.size() + requests.size() + unit.size() + name.size() + remaining.size() +
                           duration.size() + seconds.size();
  protobuf::append(out, FieldHead(2, size), code, limit, requests, unit, name, remaining, duration, seconds);
}

void write_struct(const json::Value& object, pbf_writer& out);

// A google.protobuf.Value.
void write_value(const json::Value& value, pbf_writer& out) {
  switch (value.type()) {
    case json::Type::null:
      return out.add_enum(1, 0);
    case json::Type::number: {
      double number = 0;
      const std::string_view text = value.text();
      std::from_chars(text.data(), text.data() + text.size(), number);
      return out.add_double(2, number);
    }
    case json::Type::string:
      return out.add_string(3, value.text().data(), value.text().size());
    case json::Type::boolean:
      return out.add_bool(4, value.boolean());
    case json::Type::object: {
      pbf_writer object(out, 5);
      return write_struct(value, object);
    }
    case json::Type::array: {
      pbf_writer list(out, 6);
      for (const json::Value& item : value.items()) {
        pbf_writer each(list, 1);
        write_value(item, each);
      }
    }
  }
}

void write_struct(const json::Value& object, pbf_writer& out) {
  for (const json::Member& member : object.members()) {
    pbf_writer field(out, 1);
    field.add_string(1, member.name.data(), member.name.size());
    pbf_writer value(field, 2);
    write_value(member.value, value);
  }
}

}  // namespace

std::expected<Request, std::string> decode_request(std::string_view bytes_of_request, Request former) {
  former.clear();
  try {
    read_request(pbf_reader(bytes_of_request.data(), bytes_of_request.size()), former);
    return former;
  } catch (const Unreadable& unreadable) {
    return std::unexpected(unreadable.text);
  } catch (const protozero::exception&) {
    return std::unexpected("The bytes are not a RateLimitRequest.");
  }
}

void encode_response(const Response& response, std::string& out) {
  pbf_writer message(out);
  message.add_enum(1, static_cast<std::int32_t>(response.code));
  for (const Status& status : response.statuses) append_status(status, out);
  for (const Header& header : response.headers) {
    pbf_writer written(message, 3);
    written.add_string(1, header.name);
    written.add_string(2, header.value);
  }
  if (response.metadata.empty()) return;
  json::Tree tree;
  const auto metadata = tree.parse(response.metadata);
  if (!metadata) return;
  pbf_writer written(message, 6);
  write_struct(*metadata, written);
}

}  // namespace sluice::agent::rls
