// The audit trail as it lies in PostgreSQL, row by row in the order of the chains: by organization and number.
//
// Streams (COPY), so that memory holds one row, however long the trail is.
//
// Thread safety: none; it belongs to the thread of its transaction. Everything throws what libpqxx throws.
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
  // Whether its columns hold what record() can have written: `fields` does not tell an empty text from none, and has no
  // place for a time at infinity or a hash of another length.
  bool in_form = false;
};

class TrailReader {
 public:
  // REQUIRES: the transaction sees every organization, and nothing else is done in it until the trail is read.
  explicit TrailReader(pqxx::transaction_base& work);

  // The next row; nullptr at the end.
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
