// Routes of webhooks to customers: the objects, their secrets and their deliveries. The server makes a webhook's secret
// and shows it once.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

Answer list_webhooks(Context& context);
Answer create_webhook(Context& context);
Answer get_webhook(Context& context);
Answer put_webhook(Context& context);
Answer patch_webhook(Context& context);
Answer delete_webhook(Context& context);

// Makes another secret. For 24 h deliveries are signed with the former one too.
Answer rotate_webhook_secret(Context& context);
// Queues an event of the type `test`.
Answer test_webhook(Context& context);
Answer list_deliveries(Context& context);
// Queues a delivery again under the same id, also one that had succeeded.
Answer redeliver(Context& context);

}  // namespace sluice::server::admin
