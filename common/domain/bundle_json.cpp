// Reading the top level of a bundle. Tenants come first, then what belongs to them, and overrides last: each part is
// read when all it may refer to is known, whatever the order in the text.
#include <fmt/core.h>

#include "common/domain/bundle.hpp"
#include "common/domain/bundle_reader.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/fault_place.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice {
namespace {

constexpr std::string_view kFormat = "sluice/v1";

void read_format(Fields& top) {
  top.require("format", fmt::format("a bundle starts with \"format\":\"{}\"", kFormat));
  const auto format = top.text("format", kMaxNameBytes);
  if (format && *format != kFormat) {
    top.fault("format", fmt::format("format {} is not known: this version reads \"{}\"", quoted(*format), kFormat));
  }
}

std::size_t count_of(Fields& top, std::string_view list) {
  const JsonValue* const value = top.take(list);
  return value != nullptr && value->type() == JsonType::array ? value->items().size() : 0;
}

void read_top(Fields& top, BundleReader& reader) {
  read_format(top);
  if (const auto mode = top.choice("mode", &mode_from, kModeNames)) reader.set_mode(*mode);
  const auto read_list = [&](std::string_view name, void (BundleReader::*read)(const JsonValue&, const Place&)) {
    top.each(name, false, [&](const JsonValue& value, const Place& at) { (reader.*read)(value, at); });
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
  JsonTree tree;
  const auto document = tree.parse(json);
  if (!document) return std::unexpected(Faults{document.error()});
  auto bundle = read_bundle(*document, check);
  if (!bundle) locate_faults(json, bundle.error());
  return bundle;
}

std::expected<Bundle, Faults> read_bundle(const JsonValue& document, ExpressionCheck check) {
  BundleReader reader(check);
  const Place root;
  Fields top(document, root, reader.faults());
  if (top.is_object()) read_top(top, reader);
  if (reader.faults().count() != 0) return std::unexpected(reader.faults().take());
  return reader.take();
}

}  // namespace sluice
