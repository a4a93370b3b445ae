// Reads the pages of a folder with the streaming parsers of the npm registry, and prints what it cost as JSON.
//
//   node extract_node.mjs FOLDER PAGES
//
// Processor time of this process. Each parser reads its own syntax alone.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { MicrodataRdfParser } from "microdata-rdf-streaming-parser";
import { RdfaParser } from "rdfa-streaming-parser";

const [folder, count] = process.argv.slice(2);
const pages = readdirSync(folder)
  .filter((name) => name.endsWith(".html"))
  .sort()
  .slice(0, Number(count))
  .map((name) => readFileSync(join(folder, name), "utf8"));

function read(parser, text) {
  return new Promise((resolve) => {
    let quads = 0;
    parser.on("data", () => (quads += 1));
    parser.on("error", () => resolve({ quads, failed: 1 }));
    parser.on("end", () => resolve({ quads, failed: 0 }));
    parser.write(text);
    parser.end();
  });
}

async function measure(name, make) {
  let quads = 0;
  let failed = 0;
  const start = process.cpuUsage();
  for (const [number, text] of pages.entries()) {
    const result = await read(make(`https://www.example.org/articles/${number}`), text);
    quads += result.quads;
    failed += result.failed;
  }
  const used = process.cpuUsage(start);
  const seconds = (used.user + used.system) / 1e6;
  return { name, pages: pages.length, quads, failed, pages_per_second: pages.length / seconds };
}

const rows = [
  await measure("rdfa-streaming-parser", (baseIRI) => new RdfaParser({ baseIRI, contentType: "text/html" })),
  await measure("microdata-rdf-streaming-parser", (baseIRI) => new MicrodataRdfParser({ baseIRI })),
];
console.log(JSON.stringify(rows, null, 2));
