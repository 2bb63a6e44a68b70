#include "common/policy/scope.hpp"

#include <algorithm>

#include "common/policy/levels.hpp"

namespace sluice::policy {
namespace {

// Makes each CIDR block narrower than any text prefix. An IPv4 block counts as a block inside ::ffff:0:0/96.
constexpr Narrowness kBlock = 0x1000;
constexpr std::uint8_t kIpv6Bits = 128;

Narrowness narrowness_of(const IpBlock& block) {
  return static_cast<Narrowness>(kBlock + kIpv6Bits - block.base.bits + block.prefix);
}

void add_value(Term& term, const std::string& value) {
  if (value.ends_with('*')) {
    term.prefixes.push_back(value.substr(0, value.size() - 1));
    term.narrowness = std::min(term.narrowness, static_cast<Narrowness>(value.size() - 1));
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

bool Term::matches(const Value& value) const {
  if (std::ranges::binary_search(exact, value.text, std::less<std::string_view>())) return true;
  if (!prefixes.empty()) {
    auto above = std::ranges::upper_bound(prefixes, value.text, std::less<std::string_view>());
    if (above != prefixes.begin() && value.text.starts_with(*std::prev(above))) return true;
  }
  if (blocks.empty()) return false;
  auto address = parse_ip(value.text);
  if (!address) return false;
  const IpBlock* near = neighbour(blocks, block_of(*address, address->bits));
  return near && near->contains(*address);
}

Scope compile_scope(std::span<const ScopeTerm> scope) {
  Scope compiled;
  compiled.reserve(scope.size());
  for (const ScopeTerm& term : scope) {
    Term& out = compiled.emplace_back();
    out.dimension = term.dimension;
    for (const std::string& value : term.values) add_value(out, value);
    std::ranges::sort(out.exact);
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
