#include "server/sync/questions.hpp"

#include <pqxx/pqxx>

namespace sluice::server::sync {

OpenQuestions read_questions(postgres::Transaction& tx) {
  const pqxx::result rows = tx.exec_text(
      "SELECT organization_id, id, tenant_id, policy_id, policy::text, from_us, to_us FROM whatif_questions "
      "WHERE expires_at > now() ORDER BY asked_at, id");
  OpenQuestions open;
  for (const auto& row : rows) {
    open.push_back(
        std::make_shared<const OpenQuestion>(OpenQuestion{.organization_id = row[0].c_str(),
                                                          .question = {.id = row[1].c_str(),
                                                                       .tenant_id = row[2].c_str(),
                                                                       .policy_id = row[3].c_str(),
                                                                       .policy = row[4].c_str(),
                                                                       .from_us = row[5].as<std::int64_t>(),
                                                                       .to_us = row[6].as<std::int64_t>()}}));
  }
  return open;
}

}  // namespace sluice::server::sync
