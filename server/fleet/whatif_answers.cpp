#include "server/fleet/whatif_answers.hpp"

#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <pqxx/pqxx>

#include "server/fleet/agent_key.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::fleet {
namespace {

using Stored = sync::AnswerPort::Stored;

// An agent answers for its own scope, once, and only if the fleet lists it: so the quotas of agents bound the answers.
constexpr const char* kStoreAnswer = R"(
INSERT INTO whatif_answers (organization_id, tenant_id, question_id, scope, agent_id, answer)
SELECT q.organization_id, q.tenant_id, q.id, a.scope, a.agent_id, $4::json
FROM whatif_questions AS q JOIN agents AS a ON a.scope = $2 AND a.agent_id = $3
WHERE q.id = $1 AND q.expires_at > now()
  AND ($5 = '' OR (q.organization_id = $5 AND ($6::text[] = '{}' OR q.tenant_id = ANY ($6::text[]))))
ON CONFLICT DO NOTHING)";

struct Given {
  AgentKey agent;
  AgentScope scope;
  std::string question_id;
  std::string answer;
};

Stored store_in(postgres::Session& session, const Given& given) {
  pqxx::connection* const connection = session.connection();
  if (connection == nullptr) return Stored::unavailable;
  try {
    postgres::Transaction tx(*connection);
    tx.enter(postgres::Scope::everything("sluice-server"));
    const pqxx::result stored =
        tx.exec(kStoreAnswer, given.question_id, given.agent.scope, given.agent.agent_id, given.answer,
                given.scope.organization_id, postgres::text_array(given.scope.tenant_ids));
    tx.commit();
    return stored.affected_rows() > 0 ? Stored::yes : Stored::not_asked;
  } catch (const std::exception& error) {
    if (postgres::classify(error) == postgres::FailureClass::away) session.drop();
    return Stored::unavailable;
  }
}

}  // namespace

void WhatIfAnswers::store(const sync::AgentCaller& caller, std::string_view agent_id,
                          const sluice::sync::WhatIfAnswer& answer, Done done) {
  const auto finish = [this, done = std::move(done)](Stored stored) {
    boost::asio::post(loop_, [done, stored] { done(stored); });
  };
  postgres::Pool::Job job = [finish, given = Given{.agent = key_of(caller, agent_id),
                                                   .scope = scope_of(caller),
                                                   .question_id = answer.question_id,
                                                   .answer = sluice::sync::write_answer(answer)}](
                                postgres::Session& session) { finish(store_in(session, given)); };
  if (!pool_.submit(job)) finish(Stored::unavailable);
}

}  // namespace sluice::server::fleet
