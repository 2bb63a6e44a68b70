// Routes that show and set the quotas of organizations and tenants.
#pragma once

#include "server/admin/call.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// `owner`: Kind::organization or Kind::tenant.
Answer get_quotas(Context& context, Kind owner);
Answer put_quotas(Context& context, Kind owner);
Answer delete_quotas(Context& context, Kind owner);

// Removes the quotas of an organization or tenant that the call removes. Ignores other kinds.
void remove_quotas(postgres::Transaction& tx, store::ChangeLog& log, const ObjectId& removed);

}  // namespace sluice::server::admin
