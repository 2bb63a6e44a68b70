// Builds dist/: ES modules and CommonJS, each with its types. Does nothing if dist/ is of the same sources. Programs that build at the same time
// wait for each other, and a program that uses dist/ meanwhile finds it whole.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const state = join(root, '.build');
const lock = join(state, 'lock');
const dist = join(root, 'dist');
const projects = { esm: 'tsconfig.json', cjs: 'tsconfig.cjs.json' };

function digest() {
  const hash = createHash('sha256');
  const files = readdirSync(join(root, 'src'), { recursive: true }).map((name) => join('src', name)).filter((name) => name.endsWith('.ts')).sort();
  for (const name of [...files, ...Object.values(projects), 'package.json', 'scripts/build.mjs']) hash.update(`${name}\n`).update(readFileSync(join(root, name)));
  return hash.digest('hex');
}

function done() {
  try {
    return existsSync(dist) && readFileSync(join(state, 'sources'), 'utf8') === digest();
  } catch {
    return false;
  }
}

function build() {
  const made = join(state, 'dist');
  rmSync(made, { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  for (const [kind, project] of Object.entries(projects)) {
    const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, project), '--outDir', join(made, kind)], { stdio: 'inherit' });
    if (status !== 0) return status ?? 1;
  }
  writeFileSync(join(made, 'cjs', 'package.json'), '{"type":"commonjs"}\n');
  rmSync(dist, { recursive: true, force: true });
  renameSync(made, dist);
  writeFileSync(join(state, 'sources'), digest());
  return 0;
}

/** Whether this process has the lock now. One that is older than any build takes is left over. */
function locked() {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > 120_000) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

mkdirSync(state, { recursive: true });
while (!done()) {
  if (!locked()) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    continue;
  }
  try {
    process.exitCode = done() ? 0 : build();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
  if (process.exitCode !== 0) break;
}
