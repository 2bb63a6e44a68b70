// Reads the top level of a bundle, and its lists in the order of Kind.
#include "common/objects/bundle_json.hpp"

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fault_place.hpp"
#include "common/objects/bundle_builder.hpp"

namespace sluice {
namespace {

constexpr std::string_view kFormat = "sluice/v1";

void read_format(json::Fields& top) {
  top.require("format", fmt::format("a bundle starts with \"format\":\"{}\"", kFormat));
  const auto format = top.text("format", kMaxNameBytes);
  if (format && *format != kFormat) {
    top.fault("format", fmt::format("format {} is not known: this version reads \"{}\"", quoted(*format), kFormat));
  }
}

std::size_t count_of(json::Fields& top, std::string_view list) {
  const json::Value* const value = top.take(list);
  return value != nullptr && value->type() == json::Type::array ? value->items().size() : 0;
}

void read_top(json::Fields& top, BundleBuilder& builder) {
  read_format(top);
  if (const auto mode = top.choice("mode", &mode_from, kModeNames)) builder.set_mode(*mode);
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_bundle) continue;
    const std::string_view list = info(kind).plural;
    builder.expect(kind, count_of(top, list));
    top.each(list, false, [&](const json::Value& value, const json::Place& at) { builder.read(kind, value, at); });
  }
  top.reject_unknown();
}

std::expected<Bundle, Faults> read(const json::Value& document, ExpressionCheck check, Author author, Faults& notes) {
  BundleBuilder builder(check);
  builder.set_author(author);
  const json::Place root;
  json::Fields top(document, root, builder.faults());
  if (top.is_object()) read_top(top, builder);
  if (builder.faults().count() != 0) return std::unexpected(builder.faults().take());
  notes = builder.faults().take_notes();
  return builder.take();
}

std::expected<Bundle, Faults> parse(std::string_view json, ExpressionCheck check, Author author, Faults& notes) {
  json::Tree tree;
  const auto document = tree.parse(json);
  if (!document) return std::unexpected(Faults{document.error()});
  auto bundle = read(*document, check, author, notes);
  if (!bundle) json::locate_faults(json, bundle.error());
  return bundle;
}

}  // namespace

std::expected<Bundle, Faults> parse_bundle(std::string_view json, ExpressionCheck check) {
  Faults no_notes;
  return parse(json, check, Author::sluice, no_notes);
}

std::expected<Bundle, Faults> parse_written_bundle(std::string_view json, ExpressionCheck check, Faults& notes) {
  return parse(json, check, Author::person, notes);
}

std::expected<Bundle, Faults> read_written_bundle(const json::Value& document, ExpressionCheck check, Faults& notes) {
  return read(document, check, Author::person, notes);
}

}  // namespace sluice
