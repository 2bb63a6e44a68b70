import { limited } from '../../limits.js';

export const GET = limited('/fails', () => { throw new Error('broken'); });
