/* Checks four requests, then holds a lease and gives it back. */
#include <sluice/sluice.h>
#include <stdio.h>

int main(void) {
  sluice_error error;
  sluice_options* options = sluice_options_new();
  if (options == NULL) return 1;
  sluice_options_set(options, "bundle_file", "policies.yaml", NULL); /* sluice_open() says what was wrong */
  sluice_engine* engine = sluice_open(options, &error);
  sluice_options_free(options);
  if (engine == NULL) {
    fprintf(stderr, "%s: %s\n", sluice_code_name(error.code), error.message);
    return 1;
  }

  sluice_request request;
  sluice_decision decision;
  sluice_request_init(&request, sizeof request);
  sluice_decision_init(&decision, sizeof decision);
  request.resource = sluice_text_of("GET:/orders");
  request.subject = sluice_text_of("user:42");
  for (int i = 0; i < 4; ++i) {
    if (sluice_check(engine, &request, &decision) != SLUICE_OK) {
      fprintf(stderr, "%s\n", decision.message.data);
      break;
    }
    printf("%s: %s, %lld left\n", sluice_action_name(decision.action), sluice_reason_name(decision.reason),
           (long long)decision.remaining);
  }

  sluice_request_init(&request, sizeof request);
  request.job_type = sluice_text_of("export");
  request.user = sluice_text_of("ann");
  if (sluice_check(engine, &request, &decision) == SLUICE_OK && decision.allowed) {
    puts("exporting");
    if (sluice_release(engine, request.tenant, decision.lease_id, &error) != SLUICE_OK)
      fprintf(stderr, "%s\n", error.message);
  }

  sluice_decision_clear(&decision);
  sluice_close(engine);
  return 0;
}
