// The rate limit headers of replies as lines of HTTP.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/domain/decision.hpp"
#include "common/domain/limit_headers.hpp"
#include "common/json/text.hpp"

namespace sluice {
namespace {

// "Name: "
template <LimitHeader kHeader>
constexpr auto kLineStart = [] {
  constexpr std::string_view kName = name_of(kHeader);
  std::array<char, kName.size() + 2> start{};
  std::ranges::copy(std::string_view(": "), std::ranges::copy(kName, start.data()).out);
  return start;
}();

class HeaderLines {
 public:
  explicit HeaderLines(std::string& out) : out_(out) {}

  template <LimitHeader kHeader>
  void begin() {
    out_.append(kLineStart<kHeader>.data(), kLineStart<kHeader>.size());
  }
  void add(std::string_view text) { out_.append(text); }
  void add(char c) { out_.push_back(c); }
  void add(std::int64_t number) { json::append_integer(out_, number); }
  void end() { out_.append("\r\n"); }

 private:
  std::string& out_;
};

}  // namespace

void write_decision_headers(const Decision& decision, HeaderFamilies families, std::string& out) {
  HeaderLines lines(out);
  limit_headers::add_all(decision, families, lines);
}

}  // namespace sluice
