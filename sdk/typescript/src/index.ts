export { Sluice, type CallOptions, type LeaseOptions, type SluiceClient, type WaitOptions } from './client.js';
export { Decision, type Check } from './decision.js';
export { SluiceError, type ErrorKind, type FieldError } from './errors.js';
export { Lease } from './lease.js';
export type { Logger, OnError, Options } from './options.js';
export type { TraceContext } from './trace.js';
export { version } from './version.js';
