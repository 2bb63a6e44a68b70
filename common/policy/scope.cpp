#include "common/policy/scope.hpp"

#include <algorithm>

#include "common/policy/levels.hpp"

namespace sluice::policy {
namespace {

// Makes each CIDR block narrower than any text prefix. An IPv4 block counts as a block inside ::ffff:0:0/96.
constexpr Narrowness kBlock = 0x1000U << kNarrownessShift;
constexpr std::uint8_t kIpv6Bits = 128;

Narrowness narrowness_of(const IpBlock& block) {
  const auto bits = static_cast<Narrowness>(kIpv6Bits - block.base.bits + block.prefix);
  return kBlock + (bits << kNarrownessShift);
}

Narrowness narrowness_of(const ResourcePattern& pattern) {
  return kPattern + (static_cast<Narrowness>(pattern.literal_count()) << kNarrownessShift) + pattern.literals;
}

Narrowness narrowness_of_prefix(std::size_t bytes) { return static_cast<Narrowness>(bytes) << kNarrownessShift; }

void add_value(Term& term, const std::string& value) {
  if (value.ends_with('*')) {
    term.prefixes.push_back(value.substr(0, value.size() - 1));
    term.narrowness = std::min(term.narrowness, narrowness_of_prefix(value.size() - 1));
    return;
  }
  if (term.dimension.dimension == Dimension::source_ip) {
    if (auto block = parse_cidr(value)) {
      term.blocks.push_back(*block);
      term.narrowness = std::min(term.narrowness, narrowness_of(*block));
      return;
    }
    if (auto address = parse_ip(value)) {  // stored as a block, so that every spelling of the address matches
      term.blocks.push_back(block_of(*address, address->bits));
      return;
    }
  }
  term.exact.push_back(value);
}

void add_resource(Term& term, const std::string& written, TrailingSlash trailing_slash) {
  std::string value = canonical_scope_resource(written);
  if (trailing_slash == TrailingSlash::same) {
    if (value.ends_with("/*")) {
      const std::string directory = value.substr(0, value.size() - 1);
      const std::string_view without = without_trailing_slash(directory);
      if (without.size() < directory.size()) term.exact.emplace_back(without);
    } else {
      value.resize(without_trailing_slash(value).size());
    }
  }
  auto pattern = parse_pattern(value);
  if (!pattern) return add_value(term, value);
  term.narrowness = std::min(term.narrowness, narrowness_of(*pattern));
  term.patterns.push_back(std::move(*pattern));
}

// Sorts the values and removes each value that another value covers. Only the last kept value can cover the next one.
template <class Value, class Covers>
void keep_widest(std::vector<Value>& values, Covers covers) {
  std::ranges::sort(values);
  std::vector<Value> kept;
  for (Value& value : values) {
    if (kept.empty() || !covers(kept.back(), value)) kept.push_back(std::move(value));
  }
  values = std::move(kept);
}

// Returns the greatest value that is at most `wanted`, or nullptr.
template <class Value, class Wanted>
const Value* neighbour(const std::vector<Value>& values, const Wanted& wanted) {
  auto above = std::ranges::upper_bound(values, wanted);
  return above == values.begin() ? nullptr : &*std::prev(above);
}

}  // namespace

bool Term::is_exactly(std::string_view text) const {
  if (exact.size() == 1) return exact[0] == text;
  return std::ranges::binary_search(exact, text, std::less<std::string_view>());
}

bool Term::matches(const Value& value) const {
  if (is_exactly(value.text)) return true;
  if (!prefixes.empty()) {
    auto above = std::ranges::upper_bound(prefixes, value.text, std::less<std::string_view>());
    if (above != prefixes.begin() && value.text.starts_with(*std::prev(above))) return true;
  }
  if (!patterns.empty() && matching_pattern(value.text) != nullptr) return true;
  if (blocks.empty()) return false;
  auto address = parse_ip(value.text);
  if (!address) return false;
  const IpBlock* near = neighbour(blocks, block_of(*address, address->bits));
  return near && near->contains(*address);
}

const ResourcePattern* Term::matching_pattern(std::string_view text) const {
  if (is_exactly(text)) return nullptr;
  const auto found = std::ranges::find_if(patterns, [&](const ResourcePattern& each) { return each.matches(text); });
  return found == patterns.end() ? nullptr : &*found;
}

Scope compile_scope(std::span<const ScopeTerm> scope, TrailingSlash trailing_slash) {
  Scope compiled;
  compiled.reserve(scope.size());
  for (const ScopeTerm& term : scope) {
    Term& out = compiled.emplace_back();
    out.dimension = term.dimension;
    const bool is_resource = term.dimension.dimension == Dimension::resource;
    for (const std::string& value : term.values) {
      is_resource ? add_resource(out, value, trailing_slash) : add_value(out, value);
    }
    std::ranges::sort(out.exact);
    out.exact.erase(std::ranges::unique(out.exact).begin(), out.exact.end());
    std::ranges::sort(out.patterns, [](const ResourcePattern& a, const ResourcePattern& b) {
      return std::pair(narrowness_of(b), std::string_view(a.text)) <
             std::pair(narrowness_of(a), std::string_view(b.text));
    });
    out.patterns.erase(std::ranges::unique(out.patterns).begin(), out.patterns.end());
    keep_widest(out.prefixes, [](const std::string& wide, const std::string& text) { return text.starts_with(wide); });
    keep_widest(out.blocks, [](const IpBlock& wide, const IpBlock& block) {
      return wide.prefix <= block.prefix && wide.contains(block.base);
    });
  }
  std::ranges::sort(compiled, {},
                    [](const Term& term) { return std::pair(level_of(term.dimension.dimension), term.dimension); });
  return compiled;
}

bool matches(const Scope& scope, const CheckRequest& request) {
  return std::ranges::all_of(scope, [&](const Term& term) {
    const Value* value = request.find(term.dimension);
    return value && term.matches(*value);
  });
}

}  // namespace sluice::policy
