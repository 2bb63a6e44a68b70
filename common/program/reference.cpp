#include "common/program/reference.hpp"

#include "common/json/writer.hpp"

namespace sluice::program {
namespace {

void write_flag(const Program& program, const Command& command, const FlagSpec& spec, json::Writer& out) {
  out.begin_object();
  out.field("name", spec.name);
  out.field("group", spec.group);
  out.field("value", spec.value);
  out.field("default", spec.fallback);
  out.field("help", spec.help);
  if (has_variable(spec)) out.field("variable", variable_of(program, command, spec));
  if (!spec.alias.empty()) out.field("alias", spec.alias);
  out.end_object();
}

void write_command(const Program& program, const Command& command, json::Writer& out) {
  out.begin_object();
  out.field("name", command.name);
  out.field("description", command.description);
  out.key("flags");
  out.begin_list();
  for (const FlagSpec& spec : command.flags) write_flag(program, command, spec, out);
  out.end_list();
  out.end_object();
}

void write_problem_kind(const http::ProblemKind& kind, json::Writer& out) {
  out.begin_object();
  out.field("status", static_cast<std::int64_t>(kind.status));
  out.field("type", kind.type);
  out.field("when", kind.when);
  out.field("fix", kind.fix);
  out.end_object();
}

std::string_view type_of(const telemetry::MetricSpec& spec) {
  if (spec.type == telemetry::kHistogram) return "histogram";
  return spec.type == telemetry::kCounter ? "counter" : "gauge";
}

void write_metric(const telemetry::MetricSpec& spec, json::Writer& out) {
  out.begin_object();
  out.field("name", spec.name);
  out.field("type", type_of(spec));
  out.field("help", spec.help);
  out.field("when", spec.when);
  out.key("labels");
  out.begin_list();
  for (const telemetry::LabelSpec& label : spec.labels) {
    out.begin_object();
    out.field("name", label.name);
    out.field("about", label.about);
    out.key("values");
    out.begin_list();
    for (const std::string& value : label.values) out.text(value);
    out.end_list();
    out.end_object();
  }
  out.end_list();
  out.end_object();
}

}  // namespace

std::string reference_document(const Program& program, http::AnsweredBy answered_by,
                               std::span<const telemetry::MetricSpec> metrics) {
  json::Writer out;
  out.begin_object();
  out.field("program", program.name);
  out.key("commands");
  out.begin_list();
  for (const Command& command : program.commands) write_command(program, command, out);
  out.end_list();
  out.key("problems");
  out.begin_list();
  for (const http::ProblemKind& kind : http::problem_table()) {
    if (kind.by == answered_by || kind.by == http::AnsweredBy::both) write_problem_kind(kind, out);
  }
  out.end_list();
  out.key("metrics");
  out.begin_list();
  for (const telemetry::MetricSpec& spec : metrics) write_metric(spec, out);
  out.end_list();
  out.end_object();
  return out.take() + '\n';
}

}  // namespace sluice::program
