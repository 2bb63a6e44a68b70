// Builds the console: types from the API's description, a check of all types, one script and one style sheet, and of these a
// C++ header that the server is compiled with (server/console/bundle.hpp says what is in it).
//   node build.mjs OPENAPI_JSON HEADER CACHE
// CACHE: a folder that all builds of this tree share. Whatever was built before from the same sources is taken from there.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { spawnSync } from "node:child_process";
import { build } from "esbuild";
import openapiTS, { astToString } from "openapi-typescript";
import { kViewPaths } from "./src/paths.ts";

const kHere = import.meta.dirname;
const kSchema = join(kHere, "src/api/schema.d.ts"); // made here; editors want it among the sources
const kTypes = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};

const hashOf = (content) => createHash("sha256").update(content).digest("hex");

// Other builds of this tree may write the same file at the same time: it is there as a whole, or not at all.
async function write(file, content) {
  await mkdir(dirname(file), { recursive: true });
  const made = `${file}.${process.pid}`;
  await writeFile(made, content);
  await rename(made, file);
}

const textOf = (file) => readFile(file, "utf8").catch(() => null);

async function inputs() {
  const sources = await readdir(join(kHere, "src"), { recursive: true, withFileTypes: true });
  const files = sources
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
    .filter((file) => file !== kSchema);
  return [...files, ...["build.mjs", "package-lock.json", "tsconfig.json"].map((name) => join(kHere, name))].sort();
}

async function keyOf(description) {
  const parts = [hashOf(description)];
  for (const file of await inputs()) parts.push(relative(kHere, file), hashOf(await readFile(file)));
  return hashOf(parts.join("\n"));
}

// Fails where the sources no longer fit the API.
async function checkTypes(description) {
  const schema = astToString(await openapiTS(JSON.parse(description)));
  if ((await textOf(kSchema)) !== schema) await write(kSchema, schema);
  const tsc = spawnSync(process.execPath, [join(kHere, "node_modules/typescript/bin/tsc"), "--noEmit"], { cwd: kHere, stdio: "inherit" });
  if (tsc.status !== 0) {
    console.error("server/console does not fit the API or is not valid TypeScript: see the lines above.");
    process.exit(1);
  }
}

// The name of a file has a hash of its content, so browsers may keep it forever.
async function bundle() {
  const result = await build({
    absWorkingDir: kHere,
    entryPoints: { console: "src/main.tsx" },
    bundle: true,
    minify: true,
    format: "esm",
    splitting: true, // what import() names is a file of its own, loaded when it is needed
    chunkNames: "[name]-[hash]",
    target: ["chrome111", "firefox113", "safari16.4"],
    legalComments: "none", // the licences are a file of their own
    metafile: true,
    outdir: "assets",
    write: false,
    logLevel: "warning",
  });
  const made = result.outputFiles.map((file) => {
    const bytes = Buffer.from(file.contents);
    const name = basename(file.path);
    return /^console\.(js|css)$/.test(name) ? fileOf(name, bytes) : chunkOf(name, bytes);
  });
  const inputs = Object.keys(result.metafile.inputs);
  const files = [...made, fileOf("licences.txt", Buffer.from(await licencesOf(inputs)))];
  return { files, packages: await materialsOf(inputs) };
}

// A line for each package, for the bill of materials of an image: "npm:NAME VERSION INTEGRITY LICENCE".
async function materialsOf(files) {
  const lock = JSON.parse(await readFile(join(kHere, "package-lock.json"), "utf8"));
  return packagesOf(files).map((name) => {
    const { version, integrity, license } = lock.packages[`node_modules/${name}`];
    return `npm:${name} ${version} ${integrity} ${license}`;
  });
}

const fileOf = (name, bytes) => {
  const ending = extname(name);
  const hashed = `${basename(name, ending)}-${hashOf(bytes).slice(0, 16)}${ending}`;
  return { plain: `/assets/${name}`, path: `/assets/${hashed}`, type: kTypes[ending], bytes };
};

// Scripts name it, and not the page. Its name has a hash already.
const chunkOf = (name, bytes) => ({ plain: null, path: `/assets/${name}`, type: kTypes[extname(name)], bytes });

// The packages that these files are of, by name.
function packagesOf(files) {
  const names = files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
  return [...new Set(names)].sort();
}

// Their licences ask for their texts to go with the copies.
async function licencesOf(files) {
  const texts = packagesOf(files).map(async (name) => {
    const folder = join(kHere, "node_modules", name);
    const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`the package ${name} has no file with its licence`);
    return `${name} ${version}\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

async function pageFor(files) {
  let page = await readFile(join(kHere, "src/index.html"), "utf8");
  for (const file of files.filter((each) => each.plain !== null)) {
    if (!page.includes(`"${file.plain}"`)) throw new Error(`src/index.html does not name ${file.plain}`);
    page = page.replace(`"${file.plain}"`, `"${file.path}"`);
  }
  return page;
}

const kBestBrotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

// Octal escapes of three digits never swallow the character that follows. Pieces keep lines short.
function literal(bytes) {
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 64) {
    let piece = "";
    for (const byte of bytes.subarray(at, at + 64)) {
      const plain = byte >= 0x20 && byte < 0x7f && !'"\\?'.includes(String.fromCharCode(byte));
      piece += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
    }
    pieces.push(`    "${piece}"`);
  }
  return `\n${pieces.join("\n")}sv`;
}

function headerOf(page, files, packages) {
  const views = kViewPaths.map((path) => `    "${path}"sv,`).join("\n");
  const list = files.map((file) => {
    const gzip = literal(gzipSync(file.bytes, { level: 9 }));
    const brotli = literal(brotliCompressSync(file.bytes, kBestBrotli));
    return `    File{.path = "${file.path}"sv, .content_type = "${file.type}"sv, .gzip = ${gzip}, .brotli = ${brotli}},`;
  });
  return `// Generated by server/console/build.mjs. It holds parts of these packages (images/compiled_in.sh reads the lines):
${packages.map((line) => `// ${line}`).join("\n")}
#pragma once

#include <array>
#include <string_view>

#include "server/console/bundle.hpp"

namespace sluice::server::console::embedded {

using std::string_view_literals::operator""sv;

inline constexpr std::string_view kPage = ${literal(Buffer.from(page))};

inline constexpr std::array<std::string_view, ${kViewPaths.length}> kViews{
${views}
};

inline constexpr std::array<File, ${files.length}> kFiles{
${list.join("\n")}
};

}  // namespace sluice::server::console::embedded
`;
}

const [descriptionFile, header, cache] = process.argv.slice(2);
if (cache === undefined) {
  console.error("usage: node build.mjs OPENAPI_JSON HEADER CACHE");
  process.exit(2);
}
const description = await readFile(descriptionFile, "utf8");
const key = await keyOf(description);
const kept = join(cache, `${key}.hpp`);
let text = await textOf(kept);
if (text === null) {
  await checkTypes(description);
  const { files, packages } = await bundle();
  text = headerOf(await pageFor(files), files, packages);
  // Not if somebody has saved a source meanwhile: the key would promise another content.
  if ((await keyOf(description)) === key) await write(kept, text);
}
await write(header, text);
