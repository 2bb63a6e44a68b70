// The command `sluice-server audit verify`.
#pragma once

#include <iosfwd>
#include <string>

namespace sluice::server::audit {

struct AuditVerifyOptions {
  std::string database_url;     // logs in as the server's PostgreSQL role, or as the owner of the tables
  std::string head_file;        // file with the heads (last rows of chains) of an earlier run, or ""
  std::string write_head_file;  // file for the heads of this run, or ""
};

// Prints a line for each audit chain, and for each difference between tables (agreement.hpp). Progress goes to
// `errors`. Returns the exit status: 0 if the trail is intact, 1 if it is broken, 2 if it could not be verified.
int audit_verify(const AuditVerifyOptions& options);
int audit_verify(const AuditVerifyOptions& options, std::ostream& out, std::ostream& errors);

}  // namespace sluice::server::audit
