#include "server/console/bundle.hpp"

#include "server/console/embedded.hpp"

namespace sluice::server::console {

const Bundle& embedded_bundle() {
  static constexpr Bundle kBundle{.page = embedded::kPage, .views = embedded::kViews, .files = embedded::kFiles};
  return kBundle;
}

}  // namespace sluice::server::console
