#include "server/admin/idempotency.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "server/admin/routes.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

std::string fingerprint(const Call& call) {
  Sha256 hash;
  for (const std::string_view part : {call.route->method, std::string_view(call.target), std::string_view(call.body)}) {
    hash.update(fmt::format("{}:", part.size())).update(part);
  }
  return to_hex(hash.finish());
}

}  // namespace

std::optional<Answer> begin_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call) {
  const std::string own_fingerprint = fingerprint(call);
  const pqxx::result inserted = tx.exec(
      "INSERT INTO idempotency (actor_id, key, fingerprint) VALUES ($1, $2, decode($3, 'hex')) ON CONFLICT (actor_id, "
      "key) "
      "DO NOTHING RETURNING key",
      principal.token_id, call.idempotency_key, own_fingerprint);
  if (!inserted.empty()) return std::nullopt;
  const pqxx::result rows = tx.exec(
      "SELECT encode(fingerprint, 'hex'), status, headers, body FROM idempotency WHERE actor_id = $1 AND key = $2",
      principal.token_id, call.idempotency_key);
  if (rows.empty()) throw ConcurrentChange();  // the earlier answer was removed since the INSERT
  if (rows[0][0].c_str() != own_fingerprint) {
    throw http::Refusal(
        422, "idempotency-key-reused",
        "This Idempotency-Key was used for another request. Use a new key for each request, and repeat a key only with "
        "the same request.");
  }
  Answer answer;
  answer.status = rows[0][1].as<unsigned>();
  answer.headers = rows[0][2].c_str();
  answer.headers += "Idempotency-Replayed: true\r\n";
  answer.body = rows[0][3].c_str();
  return answer;
}

void finish_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call,
                       const FinishedAnswer& answer) {
  tx.exec("UPDATE idempotency SET status = $3, headers = $4, body = $5 WHERE actor_id = $1 AND key = $2",
          principal.token_id, call.idempotency_key, answer.status, answer.headers, answer.replay_body);
}

void delete_old_answers(postgres::Transaction& tx) {
  tx.exec_text(fmt::format("DELETE FROM idempotency WHERE made_at < now() - interval '{}'", kIdempotencyLifetime));
}

}  // namespace sluice::server::admin
