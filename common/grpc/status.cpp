#include "common/grpc/status.hpp"

namespace sluice::grpc {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr auto kNumbers = std::to_array<std::string_view>(
    {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"});
static_assert(kNumbers.size() == kCodes);

}  // namespace

std::string_view number_of(Code code) { return kNumbers[static_cast<std::size_t>(code)]; }

void append_message(std::string_view message, std::string& out) {
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '%') {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
}

void append_binary(std::string_view bytes, std::string& out) {
  std::uint32_t bits = 0;
  unsigned waiting = 0;  // bits of `bits` that are not written yet
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    waiting += 8;
    while (waiting >= 6) {
      waiting -= 6;
      out.push_back(kBase64[(bits >> waiting) & 63]);
    }
  }
  if (waiting > 0) out.push_back(kBase64[(bits << (6 - waiting)) & 63]);
}

}  // namespace sluice::grpc
