// A small invented world for the mock server: sites, pages, things and statements, the same every time.
import type { GraphLink, GraphNode, Named, Term } from "../src/api/types.ts";

/** Numbers that look random and are always the same. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const schema = "http://schema.org/";
export const rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
export const foaf = "http://xmlns.com/foaf/0.1/";
export const dcterms = "http://purl.org/dc/terms/";

export interface WorldPage {
  url: string;
  site: string;
  title: string;
  language: string;
  syntaxes: string[];
  fetchedAt: string;
}

export interface WorldThing {
  iri: string;
  label: string;
  language: string;
  type: string;
  description: string;
  pages: string[];
  links: { predicate: string; to: string }[];
}

export const sites = [
  "museum.example",
  "weavers.example",
  "journal.example",
  "textil.example",
  "archive.example",
  "shop.example",
];

const people = [
  [
    "Ada Thornfield",
    "en",
    "Weaver who first kept pattern cards in a numbered index, so that any cloth could be woven again.",
  ],
  ["Bruno Keller", "de", "Webmeister aus Zürich, bekannt für seine Muster in Indigo und Leinen."],
  ["Chiara Lombardi", "it", "Tessitrice e storica dei telai, autrice di tre libri sulla seta di Como."],
  ["Daisuke Mori", "en", "Engineer of looms; built the first one that reads its pattern from paper tape."],
  ["Élise Marchand", "fr", "Dessinatrice de soieries à Lyon, élève de la Fabrique."],
  ["Fatima Haddad", "en", "Dyer of madder and weld, and curator of the museum's colour collection."],
  ["Gunnar Lind", "en", "Spins flax on a wheel of 1790 and writes about thread count."],
  ["Hana Nováková", "en", "Keeps the archive of woven bands and their letters."],
] as const;

const objects = [
  [
    "Jacquard loom of 1804",
    "VisualArtwork",
    "A loom that is told its pattern by cards with holes; the cards are the ancestor of the program.",
  ],
  ["Indigo ledger", "Book", "A dyer's book with one sample of cloth for every vat, from 1772 to 1790."],
  [
    "Linen sampler with alphabet",
    "VisualArtwork",
    "Cross-stitch on linen, signed and dated, with two alphabets and a house.",
  ],
  ["Drawloom weaving, an introduction", "Book", "How patterned silk was woven before cards, with plates."],
  ["Silk of Como, exhibition", "Event", "Forty silks and the looms that made them, shown together for the first time."],
  ["Warp and weft, a conference", "Event", "Three days of talks on cloth, code and pattern."],
  ["Hand-woven tea towel, blue check", "Product", "Linen and cotton, woven to order on an eight-shaft loom."],
  ["Merino scarf, herringbone", "Product", "Fine wool in herringbone; washable by hand."],
  ["Museum of the Loom", "Museum", "Looms from five centuries, most of them in working order."],
  ["On the memory of cloth", "Article", "Why a woven cloth can be read back into the instructions that made it."],
  ["The index of patterns", "Article", "A short history of how weavers wrote down what they wove."],
  ["Zurich", "City", "A city by a lake, with an old silk trade."],
] as const;

const next = random(7);

export const pages: WorldPage[] = [];
for (const site of sites) {
  for (let number = 1; number <= 9; number += 1) {
    const kind = ["people", "objects", "news"][number % 3] ?? "news";
    pages.push({
      url: `https://${site}/${kind}/${number}`,
      site,
      title: `${kind[0]?.toUpperCase()}${kind.slice(1)} ${number} · ${site}`,
      language: site === "textil.example" ? "de" : "en",
      syntaxes: [["jsonld"], ["microdata", "html"], ["rdfa", "html"], ["turtle"]][Math.floor(next() * 4)] ?? ["html"],
      fetchedAt: new Date(Date.now() - Math.floor(next() * 5e6)).toISOString(),
    });
  }
}

function somePages(count: number): string[] {
  const chosen = new Set<string>();
  while (chosen.size < count) chosen.add(pages[Math.floor(next() * pages.length)]?.url ?? "");
  return [...chosen];
}

export const things: WorldThing[] = [
  ...people.map(([label, language, description]): WorldThing => ({
    iri: `https://weavers.example/id/${encodeURIComponent(label.toLowerCase().replaceAll(" ", "-"))}`,
    label,
    language,
    type: `${schema}Person`,
    description,
    pages: somePages(2 + Math.floor(next() * 4)),
    links: [],
  })),
  ...objects.map(([label, type, description]): WorldThing => ({
    iri: `https://museum.example/id/${encodeURIComponent(label.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-"))}`,
    label,
    language: "en",
    type: `${schema}${type}`,
    description,
    pages: somePages(1 + Math.floor(next() * 3)),
    links: [],
  })),
];

const linkPredicates = [
  `${schema}author`,
  `${schema}about`,
  `${schema}knows`,
  `${schema}location`,
  `${schema}mentions`,
];
for (const thing of things) {
  for (let number = 0; number < 3; number += 1) {
    const to = things[Math.floor(next() * things.length)];
    const predicate = linkPredicates[Math.floor(next() * linkPredicates.length)];
    if (to && predicate && to !== thing) thing.links.push({ predicate, to: to.iri });
  }
}

/** The thing with this name. */
export function thingOf(iri: string): WorldThing | undefined {
  return things.find((thing) => thing.iri === iri);
}

/** A term for something of this world. */
export function termOf(iri: string): Term {
  const thing = thingOf(iri);
  return { kind: "iri", value: iri, ...(thing ? { label: thing.label } : {}) };
}

/** A class with its label. */
export function typeOf(iri: string): Named {
  return { iri, label: iri.slice(Math.max(iri.lastIndexOf("/"), iri.lastIndexOf("#")) + 1) };
}

/** The neighbourhood of a thing. */
export function neighbours(iri: string): { nodes: GraphNode[]; links: GraphLink[]; cut: boolean } {
  const links: GraphLink[] = [];
  for (const thing of things) {
    for (const link of thing.links) {
      if (thing.iri === iri || link.to === iri)
        links.push({ from: thing.iri, to: link.to, predicate: link.predicate, label: null });
    }
  }
  const ids = new Set([iri, ...links.flatMap((link) => [link.from, link.to])]);
  const nodes = [...ids].map((id): GraphNode => ({ iri: id, label: thingOf(id)?.label ?? null, kind: "iri" }));
  return { nodes, links, cut: false };
}
