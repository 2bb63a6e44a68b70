// `sluice-server audit verify`.
#pragma once

#include <iosfwd>
#include <string>

namespace sluice::server::audit {

struct AuditVerifyOptions {
  std::string database_url;     // of the application or the owner
  std::string head_file;        // "": none
  std::string write_head_file;  // "": none
};

// Verifies the trail and says what it found: a line for each chain and for each fault. What went wrong on the way, and
// every few seconds how far it is, goes to `errors`. The exit status: 0 all is well, 1 it is not, 2 it could not look.
int audit_verify(const AuditVerifyOptions& options);
int audit_verify(const AuditVerifyOptions& options, std::ostream& out, std::ostream& errors);

}  // namespace sluice::server::audit
