#include "server/audit/trail_reader.hpp"

#include <charconv>

#include <fmt/core.h>
#include <pqxx/except>

namespace sluice::server::audit {
namespace {

constexpr const char* kColumnsOfRow =
    "SELECT organization_id, seq, tenant_id, CASE WHEN isfinite(made_at) THEN (extract(epoch FROM made_at) * "
    "1000000)::bigint END, actor_id, actor_role, source, request_id, action, kind, object_id, version, before, after, "
    "revision, encode(hash, 'hex') FROM audit";

// libpqxx puts this text after COPY without quoting it, so it can be a query.
std::string whole_trail() { return fmt::format("({} ORDER BY organization_id, seq)", kColumnsOfRow); }

std::string query_of(const pqxx::transaction_base& work, const TrailPart& part) {
  const std::string from = part.from_seq == 0 ? "" : fmt::format(" AND seq >= {}", part.from_seq);
  return fmt::format("({} WHERE organization_id = {}{} ORDER BY seq LIMIT {})", kColumnsOfRow,
                     work.quote(part.organization_id), from, part.limit);
}

// The character that a backslash and `c` stand for in COPY's text format.
char unescaped(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return c;
  }
}

}  // namespace

TrailReader::TrailReader(pqxx::transaction_base& work) : stream_(work, whole_trail()) {}

TrailReader::TrailReader(pqxx::transaction_base& work, const TrailPart& part) : stream_(work, query_of(work, part)) {}

// Splits and decodes line_ in place. A decoded value is never longer than its text.
void TrailReader::split() {
  std::size_t column = 0;
  std::size_t out = 0;
  std::size_t begin = 0;
  bool null = false;
  const auto end_column = [&] {
    if (column < kColumns) columns_[column] = null ? std::string_view() : std::string_view(&line_[begin], out - begin);
    ++column;
    begin = out;
    null = false;
  };
  if (line_.ends_with('\n')) line_.pop_back();
  for (std::size_t in = 0; in < line_.size(); ++in) {
    if (line_[in] == '\t') {
      end_column();
    } else if (line_[in] == '\\' && in + 1 < line_.size()) {
      null = line_[++in] == 'N';  // \N is NULL; a plain N is never escaped
      if (!null) line_[out++] = unescaped(line_[in]);
    } else {
      line_[out++] = line_[in];
    }
  }
  end_column();
  if (column != kColumns)
    throw pqxx::failure(
        "a row of the table audit has an unexpected number of columns: the database belongs to another version");
}

std::int64_t TrailReader::number(std::size_t column) {
  std::int64_t value = 0;
  const std::string_view digits = text(column);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  row_.well_formed = row_.well_formed && error == std::errc{} && end == digits.data() + digits.size();
  return value;
}

const TrailRow* TrailReader::next() {
  if (!stream_.get_raw_line(line_)) return nullptr;
  split();
  row_.well_formed = true;
  row_.fields = {.organization_id = text(0),
                 .seq = number(1),
                 .tenant_id = text(2),
                 .made_at_us = number(3),
                 .actor_id = text(4),
                 .actor_role = text(5),
                 .source = text(6),
                 .request_id = text(7),
                 .action = text(8),
                 .kind = text(9),
                 .object_id = text(10),
                 .version = number(11),
                 .before = text(12),
                 .after = text(13),
                 .revision = number(14)};
  for (const std::size_t column : {12UZ, 13UZ}) {
    if (text(column).data() != nullptr && text(column).empty()) row_.well_formed = false;
  }
  row_.well_formed = from_hex(text(15), row_.hash) && row_.well_formed;
  return &row_;
}

}  // namespace sluice::server::audit
