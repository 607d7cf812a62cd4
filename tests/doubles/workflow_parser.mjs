// Prints what GitHub's own parser finds in files of a repository, one `path:line: what` a line.
import { readFile } from "node:fs/promises";
import { register } from "node:module";
import path from "node:path";

// the package imports JSON the way bundlers read it, which Node refuses
const asModule = `
  import { readFile } from "node:fs/promises";
  export const load = async (url, context, next) => url.endsWith(".json")
    ? { format: "module", shortCircuit: true, source: "export default " + (await readFile(new URL(url), "utf8")) }
    : next(url, context);
`;
register(`data:text/javascript,${encodeURIComponent(asModule)}`);
const { validate } = await import("@actions/languageservice");
const { TextDocument } = await import("vscode-languageserver-textdocument");

const [root, ...names] = process.argv.slice(1);
const content = (name) => readFile(path.join(root, name), "utf8");
const fileProvider = { getFileContent: async ({ path: name }) => ({ name, content: await content(name) }) };
for (const name of names) {
  const document = TextDocument.create(`file:///${name}`, "yaml", 0, await content(name));
  for (const { message, range } of await validate(document, { fileProvider })) {
    console.log(`${name}:${range.start.line + 1}: ${message}`);
  }
}
