// Organizations, tenants and API keys in JSON, canonical.
//
// Thread safety: pure functions.
#pragma once

#include "common/domain/bundle.hpp"
#include "common/json/writer.hpp"

namespace sluice {

void write_organization(json::Writer& out, const Organization& item);
void write_tenant(json::Writer& out, const Tenant& item);
void write_key(json::Writer& out, const ApiKey& item);

}  // namespace sluice
