// GET /v1/admin/audit/verify: verifies the hash chains of the audit trail. Each call checks some rows; its `next` is
// the `after` of the call that goes on.
#include <charconv>
#include <optional>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/base/timestamp.hpp"
#include "common/domain/identifiers.hpp"
#include "server/admin/audit_api.hpp"
#include "server/admin/paging.hpp"
#include "server/audit/steps.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

using audit::StepProgress;

std::string time_text(std::int64_t at_us) { return format_timestamp(WallTime(Micros(at_us))); }

// "organization\nseq:rows:chains:first:last:hash"
std::string text_of(const StepProgress& progress) {
  return cursor_after(progress.organization_id,
                      fmt::format("{}:{}:{}:{}:{}:{}", progress.at.seq, progress.rows, progress.chains,
                                  progress.first_us, progress.last_us, to_hex(progress.at.hash)));
}

[[noreturn]] void refuse_after() {
  http::refuse_fault(400, "?after", "after must be the `next` of the previous call, unchanged");
}

std::optional<StepProgress> read_progress(const Call& call) {
  const std::string_view after = call.parameter("after");
  if (after.empty()) return std::nullopt;
  const auto bytes = from_base64url(after);
  const std::string text = bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
  const std::size_t end_of_id = text.find('\n');
  if (end_of_id == std::string::npos || (end_of_id > 0 && !is_id(text.substr(0, end_of_id)))) refuse_after();
  StepProgress progress;
  progress.organization_id = text.substr(0, end_of_id);
  std::string_view rest = std::string_view(text).substr(end_of_id + 1);
  for (std::int64_t* const number :
       {&progress.at.seq, &progress.rows, &progress.chains, &progress.first_us, &progress.last_us}) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *number);
    if (error != std::errc{} || end == rest.data() + rest.size() || *end != ':' || *number < 0) refuse_after();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
  }
  if (!from_hex(rest, progress.at.hash)) refuse_after();
  return progress;
}

void write_owner(json::Writer& out, std::string_view organization) {
  organization.empty() ? out.null_field("organization_id") : out.field("organization_id", organization);
}

void write_broken(json::Writer& out, const audit::BrokenRow& broken) {
  out.key("broken");
  out.begin_object();
  write_owner(out, broken.organization_id);
  out.field("seq", broken.fault.seq);
  out.field("detail", broken.fault.text);
  if (!broken.kind.empty()) {
    out.field("at", time_text(broken.made_at_us));
    out.field("kind", broken.kind);
    broken.tenant_id.empty() ? out.null_field("tenant_id") : out.field("tenant_id", broken.tenant_id);
    out.field("object_id", broken.object_id);
  }
  out.end_object();
}

}  // namespace

Answer verify_audit(Context& context) {
  const std::optional<StepProgress> from = read_progress(context.call);
  audit::StepOptions options;
  if (const std::string_view named = context.call.parameter("organization_id"); !named.empty()) {
    options.only = std::string(named);
    if (from && from->organization_id != named) refuse_after();
  }
  const audit::StepResult result = audit::verify_step(context.tx, from, options);
  if (options.only && result.total == 0 && result.progress.rows == 0 && !result.broken &&
      !store::find(context.tx, Kind::organization, "", *options.only)) {
    http::refuse_unknown("organization", *options.only);
  }
  Answer answer;
  answer.object = open_object();
  json::Writer& out = *answer.object;
  const StepProgress& progress = result.progress;
  out.field("complete", result.complete);
  out.field("entries", progress.rows);
  out.field("total", result.total);
  out.field("chains", progress.chains);
  if (progress.rows == 0) {
    out.null_field("from");
    out.null_field("to");
  } else {
    out.field("from", time_text(progress.first_us));
    out.field("to", time_text(progress.last_us));
  }
  if (result.broken) {
    write_broken(out, *result.broken);
  } else {
    out.null_field("broken");
  }
  result.complete ? out.null_field("next") : out.field("next", text_of(progress));
  return answer;
}

}  // namespace sluice::server::admin
