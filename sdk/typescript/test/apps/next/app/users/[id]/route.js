import { decisionOf } from '@sluice/client/next';
import { limited } from '../../../limits.js';

export const GET = limited('/users/[id]', async (request, { params }) => Response.json({ id: (await params).id, policy: decisionOf(request)?.policy }));
