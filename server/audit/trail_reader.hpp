// Streams the audit trail from PostgreSQL with COPY, ordered by organization and row number. Only one row is in memory
// at a time. The functions throw what libpqxx throws.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <pqxx/stream_from>
#include <pqxx/transaction_base>

#include "server/store/chain.hpp"

namespace sluice::server::audit {

struct TrailRow {
  store::AuditRow fields;  // views, valid until the next row is read
  Sha256Digest hash{};
  // False if the row has an empty text instead of NULL, an infinite time, or a malformed hash. ChangeLog::record()
  // never writes such a row. `fields` and `hash` cannot show these values.
  bool well_formed = false;
};

// Some rows of one chain.
struct TrailPart {
  const std::string& organization_id;
  std::int64_t from_seq = 0;  // inclusive; 0: all rows, whatever their numbers
  std::int64_t limit = 0;     // rows
};

class TrailReader {
 public:
  // REQUIRES: the transaction sees every organization, and runs nothing else until the last row is read.
  explicit TrailReader(pqxx::transaction_base& work);
  // REQUIRES: the transaction sees the whole organization, and runs nothing else until the last row is read.
  TrailReader(pqxx::transaction_base& work, const TrailPart& part);

  // Returns nullptr at the end.
  const TrailRow* next();

 private:
  static constexpr std::size_t kColumns = 16;

  void split();
  std::string_view text(std::size_t column) const { return columns_[column]; }
  std::int64_t number(std::size_t column);

  pqxx::stream_from stream_;
  std::string line_;
  std::array<std::string_view, kColumns> columns_;  // in line_; data() is nullptr for NULL
  TrailRow row_;
};

}  // namespace sluice::server::audit
