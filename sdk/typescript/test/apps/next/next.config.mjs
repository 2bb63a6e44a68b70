import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

export default { turbopack: { root }, outputFileTracingRoot: root, serverExternalPackages: ['@sluice/client'] };
