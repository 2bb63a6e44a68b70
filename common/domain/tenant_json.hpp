// Organizations, tenants and API keys in JSON, canonical.
//
// Thread safety: pure functions.
#pragma once

#include "common/domain/bundle.hpp"
#include "common/domain/json_writer.hpp"

namespace sluice {

void write_organization(JsonWriter& out, const Organization& item);
void write_tenant(JsonWriter& out, const Tenant& item);
void write_key(JsonWriter& out, const ApiKey& item);

}  // namespace sluice
