import { withSluice } from '@sluice/client/next';

export const options = { key: (request) => request.headers.get('x-user') ?? undefined };
export const limited = (route, handler, more) => withSluice(route, handler, { ...options, ...more });
