#include "server/imports/traefik_rule.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "common/base/letter_case.hpp"
#include "server/imports/draft.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::size_t kMaxValues = 1'000;

class RouterRule {
 public:
  explicit RouterRule(std::string_view text) : text_(text) {}

  // Returns false if the rule has something that a scope cannot say.
  bool read(Policy& policy) {
    do {
      if (!read_matchers(policy)) return false;
    } while (take("&&"));
    skip_spaces();
    return text_.empty();
  }

 private:
  // One matcher, or the same matcher several times with ||.
  bool read_matchers(Policy& policy) {
    const std::string first = read_name();
    if (first != "host" && first != "path" && first != "pathprefix" && first != "method") return false;
    if (!seen_.insert(first == "pathprefix" ? "path" : first).second) return false;
    if (!read_values(first, policy)) return false;
    while (take("||")) {
      if (read_name() != first || !read_values(first, policy)) return false;
    }
    return true;
  }

  bool read_values(std::string_view matcher, Policy& policy) {
    if (!take("(")) return false;
    do {
      const auto value = read_text();
      if (!value || value->empty() || value->ends_with('*') || ++values_ > kMaxValues) return false;
      if (matcher == "host") require_value(policy, dimension(Dimension::service), lower_case(*value));
      if (matcher == "path") require_value(policy, dimension(Dimension::endpoint), *value);
      if (matcher == "pathprefix") require_value(policy, dimension(Dimension::endpoint), *value + "*");
      if (matcher == "method") require_value(policy, dimension(Dimension::method), *value);
    } while (take(","));
    return take(")");
  }

  std::string read_name() {
    skip_spaces();
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const std::string_view name = text_.substr(0, std::min(text_.find_first_not_of(kLetters), text_.size()));
    text_.remove_prefix(name.size());
    return lower_case(name);
  }

  // Quoted by ` or ". An escape is for regular expressions, which no scope has.
  std::optional<std::string> read_text() {
    skip_spaces();
    if (text_.empty() || (text_.front() != '`' && text_.front() != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inner = text_.substr(1, end - 1);
    if (inner.find('\\') != std::string_view::npos || inner.find('{') != std::string_view::npos) return std::nullopt;
    text_.remove_prefix(end + 1);
    return std::string(inner);
  }

  bool take(std::string_view sign) {
    skip_spaces();
    if (!text_.starts_with(sign)) return false;
    text_.remove_prefix(sign.size());
    return true;
  }
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }

  std::string_view text_;
  std::set<std::string, std::less<>> seen_;
  std::size_t values_ = 0;
};

}  // namespace

bool read_traefik_rule(std::string_view rule, Policy& policy) { return RouterRule(rule).read(policy); }

}  // namespace sluice::server::imports
