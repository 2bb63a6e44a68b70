#include "agent/rls/counter_name.hpp"

#include <initializer_list>

#include "common/policy/counter_key.hpp"

namespace sluice::agent::rls {
namespace {

void append_domain(std::string_view domain, std::string& out) {
  const std::size_t start = out.size();
  policy::append_escaped(domain, out);
  policy::shorten_identity(start, out);
}

using Parts = std::initializer_list<std::string_view>;

std::size_t size_of(Parts parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  return size;
}

char* write(Parts parts, char* to) {
  for (const std::string_view part : parts) to += part.copy(to, part.size());
  return to;
}

std::size_t most_bytes_of_entries(const CounterOf& counter) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < counter.entries.size(); ++i) {
    const std::string_view value = counter.match.counted_value(i, counter.entries[i]);
    most += 2 + policy::kMaxEscaped * (counter.entries[i].key.size() + value.size());
  }
  return most;
}

char* write_entries(const CounterOf& counter, char* to) {
  for (std::size_t i = 0; i < counter.entries.size(); ++i) {
    if (i > 0) *to++ = '|';
    to = policy::write_escaped(counter.entries[i].key, to);
    *to++ = '=';
    to = policy::write_escaped(counter.match.counted_value(i, counter.entries[i]), to);
  }
  return to;
}

// Appends the entries between the parts. Each request has a name for each descriptor, so a name is written in one go.
void append_name(Parts before, const CounterOf& counter, Parts after, std::string& out) {
  const std::size_t start = out.size() + size_of(before);  // of the entries
  const std::size_t most = start + most_bytes_of_entries(counter) + size_of(after);
  std::size_t end = start;
  out.resize_and_overwrite(most, [&, begin = out.size()](char* bytes, std::size_t) {
    char* const to = write_entries(counter, write(before, bytes + begin));
    end = static_cast<std::size_t>(to - bytes);
    return write(after, to) - bytes;
  });
  if (end - start <= policy::kMaxIdentity) return;
  out.resize(end);
  policy::shorten_identity(start, out);
  for (const std::string_view part : after) out += part;
}

}  // namespace

void append_counter_head(std::string_view tenant, std::string_view domain, bool one_slot, std::string& out) {
  out.append("sl:{").append(tenant).append("|rls:");
  append_domain(domain, out);
  out += one_slot ? '}' : '|';
}

void append_counter_name(const CounterOf& counter, bool one_slot, std::string& out) {
  const std::string_view unit = to_string(counter.unit);
  if (one_slot) return append_name({counter.head, ":r=", unit, "|"}, counter, {}, out);
  append_name({counter.head}, counter, {"}:r=", unit}, out);
}

}  // namespace sluice::agent::rls
