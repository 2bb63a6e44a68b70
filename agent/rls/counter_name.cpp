#include "agent/rls/counter_name.hpp"

#include "common/policy/counter_key.hpp"

namespace sluice::agent::rls {
namespace {

void append_domain(std::string_view domain, std::string& out) {
  const std::size_t start = out.size();
  policy::append_escaped(domain, out);
  policy::shorten_identity(start, out);
}

void append_entries(const CounterOf& counter, std::string& out) {
  const std::size_t start = out.size();
  for (std::size_t i = 0; i < counter.entries.size(); ++i) {
    if (i > 0) out += '|';
    policy::append_escaped(counter.entries[i].key, out);
    out += '=';
    policy::append_escaped(counter.match.counted_value(i, counter.entries[i]), out);
  }
  policy::shorten_identity(start, out);
}

void append_unit(rls_config::Unit unit, std::string& out) { out.append(":r=").append(to_string(unit)); }

}  // namespace

void append_counter_head(std::string_view tenant, std::string_view domain, bool one_slot, std::string& out) {
  out.append("sl:{").append(tenant).append("|rls:");
  append_domain(domain, out);
  out += one_slot ? '}' : '|';
}

void append_counter_name(const CounterOf& counter, bool one_slot, std::string& out) {
  out += counter.head;
  if (one_slot) {
    append_unit(counter.unit, out);
    out += '|';
    append_entries(counter, out);
  } else {
    append_entries(counter, out);
    out += '}';
    append_unit(counter.unit, out);
  }
}

}  // namespace sluice::agent::rls
