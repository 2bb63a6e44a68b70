import { decisionOf } from '@sluice/client/next';
import { limited } from '../../limits.js';

export const GET = limited('/paced', (request) => Response.json({ checked: decisionOf(request) !== undefined }));
