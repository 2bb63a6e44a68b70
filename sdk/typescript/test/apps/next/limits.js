import { withSluice } from '@sluice/client/next';

export const options = { maxDelayMs: 300, key: (request) => request.headers.get('x-user') ?? undefined };
export const limited = (route, handler, more) => withSluice(route, handler, { ...options, ...more });
