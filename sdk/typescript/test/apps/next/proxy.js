import { sluiceProxy } from '@sluice/client/next';
import { options } from './limits.js';

export const proxy = sluiceProxy({ ...options, patterns: ['/proxied/[id]', '/health'], exempt: ['/health'] });
export const config = { matcher: '/proxied/:path*' };
