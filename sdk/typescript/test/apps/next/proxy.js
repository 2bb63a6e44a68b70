import { sluiceProxy } from '@sluice/client/next';
import { options } from './limits.js';

export const proxy = sluiceProxy({ ...options, patterns: ['/proxied/[id]', '/proxied/own/free', '/proxied/own/shadow', '/proxied/own/paced'], exempt: ['/proxied/own/free'] });
export const config = { matcher: '/proxied/:path*' };
