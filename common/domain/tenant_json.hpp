// Organizations, tenants and API keys in JSON, canonical.
//
// Thread safety: pure functions.
#pragma once

#include "common/domain/bundle.hpp"
#include "common/domain/json_fields.hpp"
#include "common/domain/json_writer.hpp"
#include "common/domain/references.hpp"

namespace sluice {

// Read all fields. Whether an id is free, and whether a tenant's organization exists, is for the caller to check.
void read_organization(Fields& fields, Organization& out);
void read_tenant(Fields& fields, Tenant& out);
void read_key(Fields& fields, const TenantIndex& tenants, ApiKey& out);

void write_organization(JsonWriter& out, const Organization& item);
void write_tenant(JsonWriter& out, const Tenant& item);
void write_key(JsonWriter& out, const ApiKey& item);

}  // namespace sluice
