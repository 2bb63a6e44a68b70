#include "common/redis/slot_map.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <boost/crc.hpp>

namespace sluice::redis {
namespace {

Result<SlotMap> unreadable(std::string_view what) {
  return failure("protocol", "the reply to CLUSTER SLOTS is malformed: " + std::string(what));
}

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

// A node's metadata are a flat list: name, value, name, value, and so on.
std::string_view metadata(const Reply& node, std::string_view name) {
  if (node.elements.size() < 4) return {};
  const std::span<const Reply> pairs = node.elements[3].elements;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i].text == name) return pairs[i + 1].text;
  }
  return {};
}

// `asked` sent the reply. A host "" or nil means the host of `asked`. A host "?" means an unknown hostname; the node's
// metadata then have an IP address.
std::optional<HostPort> read_node(const Reply& node, const HostPort& asked) {
  if (node.elements.size() < 2 || node.elements[1].type != Reply::Type::integer) return std::nullopt;
  const std::int64_t port = node.elements[1].integer;
  if (port < 1 || port > 65'535) return std::nullopt;
  std::string_view host = node.elements[0].text;
  if (host == "?") host = metadata(node, "ip");
  if (host.empty()) host = asked.host;
  if (!is_host(host)) return std::nullopt;
  return HostPort{std::string(host), static_cast<std::uint16_t>(port)};
}

}  // namespace

std::uint16_t slot_of(std::string_view key) {
  const std::string_view tag = hash_tag(key);
  boost::crc_xmodem_t crc;
  crc.process_bytes(tag.data(), tag.size());
  return crc.checksum() % kSlots;
}

std::size_t SlotMap::number_of(HostPort primary) {
  const auto known = std::ranges::find(primaries_, primary);
  if (known != primaries_.end()) return static_cast<std::size_t>(known - primaries_.begin());
  primaries_.push_back(std::move(primary));
  return primaries_.size() - 1;
}

std::uint64_t SlotMap::hash_of(std::size_t primary) const {
  boost::crc_optimal<64, 0x42F0E1EBA9EA3693, 0, 0, false, false> crc;  // CRC-64/ECMA-182
  for (std::size_t slot = 0; slot < owners_.size(); ++slot) {
    if (owners_[slot] != primary) continue;
    crc.process_byte(static_cast<unsigned char>(slot >> 8));
    crc.process_byte(static_cast<unsigned char>(slot & 0xff));
  }
  return crc.checksum();
}

Result<SlotMap> SlotMap::read(const Reply& reply, const HostPort& asked) {
  if (reply.type != Reply::Type::array) return unreadable("it is not an array");
  SlotMap map;
  if (reply.elements.empty()) return map;
  map.owners_.assign(kSlots, kNobody);
  std::vector<const Reply*> ranges;
  for (const Reply& range : reply.elements) {
    if (range.elements.size() < 3) return unreadable("a range has no primary");
    ranges.push_back(&range);
  }
  std::ranges::sort(ranges, {}, [](const Reply* range) { return range->elements[0].integer; });
  for (const Reply* range : ranges) {
    const std::int64_t first = range->elements[0].integer;
    const std::int64_t last = range->elements[1].integer;
    if (first < 0 || last < first || last >= static_cast<std::int64_t>(kSlots)) {
      return unreadable("a range is outside 0 to 16383");
    }
    std::optional<HostPort> primary = read_node(range->elements[2], asked);
    if (!primary) return unreadable("a primary has no address");
    const auto number = static_cast<std::uint16_t>(map.number_of(*std::move(primary)));
    std::fill(map.owners_.begin() + first, map.owners_.begin() + last + 1, number);
  }
  map.covered_ = kSlots - static_cast<std::size_t>(std::ranges::count(map.owners_, kNobody));
  return map;
}

std::optional<Redirect> read_redirect(const Reply& reply, const HostPort& asked) {
  const std::string_view code = reply.error_code();
  if (!reply.is_error() || (code != "MOVED" && code != "ASK")) return std::nullopt;
  const std::string_view address = reply.text.substr(reply.text.rfind(' ') + 1);
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::uint16_t port = 0;
  const std::string_view digits = address.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port == 0) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  if (host.empty()) host = asked.host;
  if (!is_host(host)) return std::nullopt;
  return Redirect{.node = {std::string(host), port}, .asking = code == "ASK"};
}

}  // namespace sluice::redis
