#include "server/admin/paging.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/crypto.hpp"
#include "common/base/text.hpp"
#include "common/base/utf8.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {

store::Page read_page(const Call& call) {
  store::Page page{.limit = kDefaultPage, .after_tenant_id = {}, .after_id = {}};
  if (const std::string_view limit = call.parameter("limit"); !limit.empty()) {
    const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), page.limit);
    if (error != std::errc{} || end != limit.data() + limit.size() || page.limit < 1 || page.limit > kMaxPage) {
      http::refuse_fault(400, "?limit", fmt::format("limit is a whole number from 1 to {}", kMaxPage));
    }
  }
  if (const std::string_view cursor = call.parameter("cursor"); !cursor.empty()) {
    const auto bytes = from_base64url(cursor);
    const std::string text = bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
    const std::size_t separator = text.find('\n');
    if (separator == std::string::npos || text.find('\0') != std::string::npos || !is_utf8(text)) {
      refuse_cursor();
    }
    page.after_tenant_id = text.substr(0, separator);
    page.after_id = text.substr(separator + 1);
  }
  return page;
}

std::string cursor_after(std::string_view tenant_id, std::string_view id) {
  return to_base64url(as_bytes(fmt::format("{}\n{}", tenant_id, id)));
}

std::string cut_page(std::vector<store::StoredObject>& found, const store::Page& page) {
  if (found.size() <= page.limit) return {};
  found.resize(page.limit);
  return cursor_after(found.back().key.tenant_id, found.back().key.id);
}

void refuse_cursor() {
  http::refuse_fault(400, "?cursor", "cursor must be the `next` of the previous page, unchanged");
}

void check_choice(std::string_view parameter, std::string_view value, std::span<const std::string_view> choices) {
  if (std::ranges::find(choices, value) != choices.end()) return;
  http::refuse_fault(400, fmt::format("?{}", parameter),
                     fmt::format("{} is one of {}, not {}", parameter, fmt::join(choices, ", "), quoted(value)));
}

Answer list_answer(const std::string& next, const std::vector<std::string>& items) {
  return list_answer(next, [&items](json::Writer& out) {
    for (const std::string& item : items) out.raw(item);
  });
}

}  // namespace sluice::server::admin
