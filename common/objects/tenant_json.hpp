// Writes organizations, tenants and API keys as canonical JSON. BundleBuilder reads them.
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
