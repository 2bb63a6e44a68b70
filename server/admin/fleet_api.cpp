#include "server/admin/fleet_api.hpp"

#include <charconv>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/duration.hpp"
#include "server/admin/fleet_query.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::admin {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kLongestWait{60};
constexpr std::array<std::string_view, 2> kStatuses{"live", "missing"};

std::int64_t revision_of_path(const Call& call) {
  const std::string& text = call.path_values.at(0);
  std::int64_t revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc{} || end != text.data() + text.size() || revision < 0) http::refuse_unknown("revision", text);
  return revision;
}

std::chrono::milliseconds read_wait(const Call& call) {
  const std::string_view text = call.parameter("wait");
  if (text.empty()) return 0ms;
  const auto wait = parse_duration(text);
  if (!wait || *wait > kLongestWait) {
    http::refuse_fault(400, "?wait",
                       fmt::format("wait is a duration from 0s to {}s, such as 10s", kLongestWait.count()));
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(*wait);
}

}  // namespace

Answer list_agents(Context& context) {
  const store::Page page = read_page(context.call);
  store::Statement statement = known_agents(context.call, "a.scope, a.agent_id, " + agent_document());
  if (const auto status = context.call.parameter("status"); !status.empty()) {
    check_choice("status", status, kStatuses);
    statement.add(fmt::format(" AND ({}) = {}", is_live_agent(), status == "live"));
  }
  if (!page.after_id.empty()) {
    statement.add(" AND (a.agent_id, a.scope) > ($, ", page.after_id).add("$)", page.after_tenant_id);
  }
  const pqxx::result rows =
      statement.add(fmt::format(" ORDER BY a.agent_id, a.scope LIMIT {}", page.limit + 1)).run(context.tx);
  std::vector<std::string> items;
  std::string next;
  for (const auto& row : rows) {
    if (items.size() == page.limit) {
      const pqxx::row last = rows[row.num() - 1];
      next = cursor_after(last[0].c_str(), last[1].c_str());
      break;
    }
    items.emplace_back(row[2].c_str());
  }
  return list_answer(next, items);
}

[[noreturn]] void refuse_revision(Context& context, std::int64_t revision) {
  const auto forgotten = context.tx.exec_text("SELECT revision FROM forgotten_changes")[0][0].as<std::int64_t>();
  if (revision > 0 && revision <= forgotten) {
    throw http::Refusal(404, "not-found",
                        fmt::format("Revision {} is older than --changes-retention: the oldest that is known is {}. "
                                    "Wait for a newer one; every live agent has a newer one.",
                                    revision, forgotten + 1));
  }
  http::refuse_unknown("revision", context.call.path_values.at(0));
}

Answer get_enforcement(Context& context) {
  const std::int64_t revision = revision_of_path(context.call);
  const std::chrono::milliseconds wait = read_wait(context.call);
  const pqxx::result rows = context.tx.exec(
      fmt::format(
          "SELECT encode(n.chain, 'hex'), {}, r.revision FROM revision AS r JOIN revisions AS n ON n.revision = "
          "$1 AND n.revision <= r.revision",
          store::as_timestamp("n.made_at")),
      revision);
  if (rows.empty()) refuse_revision(context, revision);
  const Enforcement enforcement = enforcement_of(read_enforcement(context), revision);
  Answer answer;
  answer.body = fmt::format(
      R"({{"revision":{},"chain":"{}","made_at":"{}","current":{},"enforced_by_all":{},"agents":{}}})", revision,
      rows[0][0].c_str(), rows[0][1].c_str(), rows[0][2].c_str(), enforcement.by_all, enforcement.agents);
  if (!enforcement.by_all) answer.wait = wait;
  return answer;
}

}  // namespace sluice::server::admin
