#include "server/store/chain.hpp"

#include <array>

namespace sluice::server::store {
namespace {

void add(Sha256& hash, std::int64_t number) {
  std::array<std::uint8_t, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (56 - 8 * i));
  }
  hash.update(ByteView(bytes));
}

void add(Sha256& hash, std::string_view text) {
  add(hash, static_cast<std::int64_t>(text.size()));
  hash.update(text);
}

}  // namespace

Sha256Digest chained(const Sha256Digest& before, const AuditRow& row) {
  Sha256 hash;
  hash.update(ByteView(before));
  add(hash, row.organization_id);
  add(hash, row.seq);
  add(hash, row.tenant_id);
  add(hash, row.made_at_us);
  for (const std::string_view text :
       {row.actor_id, row.actor_role, row.source, row.request_id, row.action, row.kind, row.object_id}) {
    add(hash, text);
  }
  add(hash, row.version);
  add(hash, row.before);
  add(hash, row.after);
  add(hash, row.revision);
  return hash.finish();
}

}  // namespace sluice::server::store
