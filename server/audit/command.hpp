// The command `sluice-server audit verify`.
#pragma once

#include <iosfwd>
#include <string>

namespace sluice::server::audit {

struct AuditVerifyOptions {
  std::string database_url;     // logs in as the server's PostgreSQL role or as the owner of the tables
  std::string head_file;        // saved heads to check against; "": no file
  std::string write_head_file;  // file for the new heads; "": no file
};

// Verifies the trail and prints a line for each chain and each difference. Errors, and the progress every 2 s, go to
// `errors`. Returns the exit status: 0 the trail is intact, 1 it is broken, 2 it could not be verified.
int audit_verify(const AuditVerifyOptions& options);
int audit_verify(const AuditVerifyOptions& options, std::ostream& out, std::ostream& errors);

}  // namespace sluice::server::audit
