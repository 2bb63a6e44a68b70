// Reading the top level of a bundle. Tenants come first, then what belongs to them, and overrides last: each part is
// read when all it may refer to is known, whatever the order in the text.
#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/bundle.hpp"
#include "common/domain/bundle_reader.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fault_place.hpp"

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

void read_top(json::Fields& top, BundleReader& reader) {
  read_format(top);
  if (const auto mode = top.choice("mode", &mode_from, kModeNames)) reader.set_mode(*mode);
  const auto read_list = [&](std::string_view name,
                             void (BundleReader::*read)(const json::Value&, const json::Place&)) {
    top.each(name, false, [&](const json::Value& value, const json::Place& at) { (reader.*read)(value, at); });
  };
  read_list("organizations", &BundleReader::read_organization);
  reader.expect_tenants(count_of(top, "tenants"));
  read_list("tenants", &BundleReader::read_tenant);
  read_list("plans", &BundleReader::read_plan);
  reader.expect_policies(count_of(top, "policies"));
  read_list("policies", &BundleReader::read_policy);
  reader.expect_keys(count_of(top, "keys"));
  read_list("keys", &BundleReader::read_key);
  read_list("overrides", &BundleReader::read_override);
  top.reject_unknown();
}

}  // namespace

std::expected<Bundle, Faults> parse_bundle(std::string_view json, ExpressionCheck check) {
  json::Tree tree;
  const auto document = tree.parse(json);
  if (!document) return std::unexpected(Faults{document.error()});
  auto bundle = read_bundle(*document, check);
  if (!bundle) json::locate_faults(json, bundle.error());
  return bundle;
}

std::expected<Bundle, Faults> read_bundle(const json::Value& document, ExpressionCheck check) {
  BundleReader reader(check);
  const json::Place root;
  json::Fields top(document, root, reader.faults());
  if (top.is_object()) read_top(top, reader);
  if (reader.faults().count() != 0) return std::unexpected(reader.faults().take());
  return reader.take();
}

}  // namespace sluice
